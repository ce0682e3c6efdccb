#include <algorithm>
#include <memory>
#include <set>

#include "s2s/scores/texts.h"
#include "text_scores.h"

namespace s2s::text_scores {
namespace {

struct NamedAnswersOptions {
  std::vector<std::string> sets = {"web-qa", "llama-qa", "trivia-qa"};
  void visit(OptionVisitor& v) {
    v("sets", sets, "data sets of questions, whose reference lists answers between semicolons");
  }
};

/// Whether all words of one of the texts that `reference` lists between semicolons occur in the
/// answer, in any order. An answer without a word names none.
bool names_answer(const std::string& reference, const std::string& hypothesis) {
  const std::vector<std::string> words = split_words(normalize_english(hypothesis));
  if (words.empty()) return false;
  const std::set<std::string> said(words.begin(), words.end());
  for (size_t begin = 0; begin <= reference.size();) {
    const size_t end = std::min(reference.find(';', begin), reference.size());
    const auto wanted = split_words(normalize_english(reference.substr(begin, end - begin)));
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&said](const std::string& word) { return said.contains(word); })) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

/// Source: NeMo speechlm2 parts/metrics/results_logger.py, with its names of sets.
class NamedAnswers final : public Metric {
 public:
  explicit NamedAnswers(NamedAnswersOptions options) : options_(std::move(options)) {}
  MetricScope scope() const override { return MetricScope::kExamples; }
  void add(const MetricExample& example) override {
    const auto& sets = options_.sets;
    if (std::find(sets.begin(), sets.end(), example.data_set) == sets.end()) return;
    ++questions_;
    const std::optional<std::string>& answer = example.hypothesis.text;
    named_ += answer && names_answer(example.reference.text.value_or(""), *answer) ? 1 : 0;
  }
  std::vector<MetricValue> values() const override {
    return {{.name = "acc",
             .value = static_cast<double>(named_) / static_cast<double>(questions_),
             .better = MetricValue::Better::kHigher,
             .is_in_tables = false}};
  }

 private:
  NamedAnswersOptions options_;
  int64_t questions_ = 0;
  int64_t named_ = 0;
};

}  // namespace

Component<Metric> named_answers() {
  return {
      .name = "named_answers",
      .summary = "share of questions whose answer names an expected one",
      .create = [](const Config& options, const BuildContext& context) -> std::unique_ptr<Metric> {
        return std::make_unique<NamedAnswers>(
            read_options<NamedAnswersOptions>(options, context.path));
      },
      .options = list_options<NamedAnswersOptions>};
}

}  // namespace s2s::text_scores
