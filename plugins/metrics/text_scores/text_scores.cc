#include "text_scores.h"

#include <memory>

#include "s2s/scores/bleu.h"
#include "s2s/scores/texts.h"

namespace s2s::text_scores {
namespace {

using Values = std::vector<MetricValue>;

struct NoOptions {
  void visit(OptionVisitor&) {}
};

template <class T>
Component<Metric> component(const char* name, const char* summary) {
  return {
      .name = name,
      .summary = summary,
      .create = [](const Config& options, const BuildContext& context) -> std::unique_ptr<Metric> {
        read_options<NoOptions>(options, context.path);
        return std::make_unique<T>();
      },
      .options = list_options<NoOptions>};
}

/// Of scores.json only.
MetricValue count(const char* name, int64_t value) {
  return {.name = name,
          .value = static_cast<double>(value),
          .is_logged = false,
          .is_in_tables = false,
          .is_count = true};
}

class Bleu final : public Metric {
 public:
  void add(const MetricExample& example) override {
    counts_.add(example.hypothesis.normalized, example.reference.normalized);
  }
  Values values() const override {
    return {{.value = counts_.score().score,
             .better = MetricValue::Better::kHigher,
             .label = "BLEU",
             .hint = "n-grams shared with the reference text; on audio this is ASR-BLEU",
             .user_name = "src_txt_bleu",
             .user_label = "user's words, BLEU",
             .user_hint = "n-grams of the user's text channel shared with the user's words"}};
  }

 private:
  BleuCounts counts_;
};

class WordErrors final : public Metric {
 public:
  void add(const MetricExample& example) override {
    errors_ += word_errors(example.reference.normalized, example.hypothesis.normalized);
  }
  Values values() const override {
    return {{.value = errors_.rate(),
             .better = MetricValue::Better::kLower,
             .label = "word errors",
             .hint = "wrong, missing and extra words per reference word",
             .unit = "%",
             .user_name = "src_wer",
             .user_label = "user's words, errors",
             .user_hint = "wrong, missing and extra words per word of the user"},
            count("substitutions", errors_.substitutions),
            count("deletions", errors_.deletions),
            count("insertions", errors_.insertions),
            count("reference_words", errors_.reference_length)};
  }

 private:
  ErrorCounts errors_;
};

class CharacterErrors final : public Metric {
 public:
  void add(const MetricExample& example) override {
    errors_ += character_errors(collapse_white_space(example.reference.normalized),
                                collapse_white_space(example.hypothesis.normalized));
  }
  Values values() const override {
    return {{.value = errors_.rate(),
             .better = MetricValue::Better::kLower,
             .label = "character errors",
             .hint = "the same, letter by letter",
             .unit = "%"}};
  }

 private:
  ErrorCounts errors_;
};

class Exact final : public Metric {
 public:
  void add(const MetricExample& example) override {
    const std::vector<std::string> words = split_words(example.hypothesis.normalized);
    ++examples_;
    exact_ += words == split_words(example.reference.normalized) ? 1 : 0;
    empty_ += words.empty() ? 1 : 0;
  }
  Values values() const override {
    return {{.value = static_cast<double>(exact_) / static_cast<double>(examples_),
             .better = MetricValue::Better::kHigher,
             .label = "entirely right",
             .hint = "answers without any wrong word",
             .unit = "%",
             .json_name = "exact_rate"},
            count("empty", empty_)};
  }

 private:
  int64_t examples_ = 0;
  int64_t exact_ = 0;
  int64_t empty_ = 0;
};

}  // namespace

Component<Metric> bleu() { return component<Bleu>("bleu", "n-grams shared with the reference"); }
Component<Metric> wer() { return component<WordErrors>("wer", "word error rate"); }
Component<Metric> cer() { return component<CharacterErrors>("cer", "character error rate"); }
Component<Metric> exact() { return component<Exact>("exact", "texts without any wrong word"); }

}  // namespace s2s::text_scores
