// Full-Duplex-Bench's numbers, for data sets of its tasks.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "components.h"
#include "full_duplex_numbers.h"
#include "s2s/nn/weights.h"
#include "turn_taking_errors.h"

namespace s2s::turn_taking {
namespace {

using Better = MetricValue::Better;

/// A mean of what was measured.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return sum / static_cast<double>(count); }  // NaN: nothing was measured
};

using Distributions = std::map<std::string, std::vector<double>>;

Distributions distributions_of(const FullDuplexBenchOptions& options, const BuildContext& context) {
  if (!options.backchannel_distributions) return {};
  const std::string path = resolve_path(*options.backchannel_distributions, context.base_dir);
  const Config file = read_json(path);
  if (!file.is_map()) throw distribution_error(path, "", "is no map");
  Distributions out;
  for (const auto& [id, list] : file.entries()) {
    if (!list.is_list() || list.items().size() < 2) {
      throw distribution_error(path, id, "has no list of at least two numbers");
    }
    for (const Config& item : list.items()) out[id].push_back(item.as_double(path + ": " + id));
  }
  return out;
}

/// The end of the user's last turn. Without one there is nothing to answer.
std::optional<double> user_end_s(const MetricExample& example) {
  std::optional<double> end_s;
  for (const Turn& turn : example.turns) {
    if (!turn.is_agent) end_s = std::max(end_s.value_or(turn.end_s), turn.end_s);
  }
  return end_s;
}

class FullDuplexBench final : public Metric {
 public:
  FullDuplexBench(FullDuplexBenchOptions options, const BuildContext& context)
      : options_(std::move(options)),
        silero_(Silero::create(options_.silero, context)),
        distributions_(distributions_of(options_, context)) {}
  MetricScope scope() const override { return MetricScope::kVoices; }
  bool needs_audio() const override { return silero_ != nullptr; }

  void add(const MetricExample& example) override {
    if (!example.hypothesis.heard) return;
    const std::vector<RecognizedWord>& words = *example.hypothesis.heard;
    const auto is_of = [&](const char* task, const std::vector<std::string>& sets) {
      return options_.has(task) &&
             std::find(sets.begin(), sets.end(), example.data_set) != sets.end();
    };
    const std::optional<double> end_s = user_end_s(example);
    if (is_of("pause_handling", options_.pause_handling)) pause_tor_.add(takes_turn(words) ? 1 : 0);
    if (is_of("smooth_turn_taking", options_.smooth_turn_taking) && end_s) {
      answer_.add(words, *end_s);
    }
    if (is_of("user_interruption", options_.user_interruption) && end_s) {
      interruption_.add(words_after(words, *end_s), *end_s);
    }
    if (is_of("backchannel", options_.backchannel)) add_backchannels(example, words);
  }

  std::vector<MetricValue> values() const override {
    std::vector<MetricValue> out;
    if (options_.has("pause_handling")) {
      out.push_back(rate("fdb_pause_tor", pause_tor_, Better::kLower, "takes a turn in a pause"));
    }
    if (options_.has("backchannel")) add_backchannel_values(out);
    if (options_.has("smooth_turn_taking")) {
      out.push_back(
          rate("fdb_turn_tor", answer_.tor, Better::kHigher, "takes the turn after the user"));
      out.push_back(latency("fdb_turn_latency_s", answer_.latency_s, "latency after the user"));
    }
    if (options_.has("user_interruption")) {
      out.push_back(rate("fdb_interruption_tor", interruption_.tor, Better::kHigher,
                         "answers an interruption"));
      out.push_back(latency("fdb_interruption_latency_s", interruption_.latency_s,
                            "latency after an interruption"));
    }
    return out;
  }

 private:
  /// Of answers: how many are turns, and when these begin.
  struct Answers {
    Mean tor, latency_s;

    void add(const std::vector<RecognizedWord>& words, double user_end_s) {
      const bool is_turn = takes_turn(words);
      tor.add(is_turn ? 1 : 0);
      if (is_turn) latency_s.add(std::max(0.0, words.front().start_s - user_end_s));
    }
  };

  static MetricValue rate(const char* name, const Mean& mean, Better better, const char* label) {
    return {.name = name,
            .value = mean.value(),
            .better = better,
            .label = label,
            .hint = "answers of a second or of more than three words",
            .unit = "%"};
  }
  static MetricValue latency(const char* name, const Mean& mean, const char* label) {
    return {.name = name,
            .value = mean.value(),
            .better = Better::kLower,
            .label = label,
            .hint = "mean time from the user's last word to the agent's first",
            .unit = "s"};
  }

  void add_backchannel_values(std::vector<MetricValue>& out) const {
    out.push_back(rate("fdb_backchannel_tor", backchannel_tor_, Better::kLower,
                       "takes a turn from a speaker"));
    out.push_back({.name = "fdb_backchannel_frequency",
                   .value = backchannel_frequency_.value(),
                   .label = "backchannels",
                   .hint = "short utterances while the user speaks, per second"});
    if (distributions_.empty()) return;
    out.push_back({.name = "fdb_backchannel_jsd",
                   .value = backchannel_distance_.value(),
                   .better = Better::kLower,
                   .label = "backchannels, JSD",
                   .hint = "how far their times are from those of people"});
  }

  void add_backchannels(const MetricExample& example, const std::vector<RecognizedWord>& words) {
    const AudioClip& clip = example.hypothesis.audio;
    if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) return;
    const double duration_s =
        static_cast<double>(clip.samples_S.numel()) / static_cast<double>(clip.sample_rate_hz);
    const Backchannels found =
        find_backchannels(in_tenths(silero_->spans(clip), silero_->num_samples(clip)), words);
    backchannel_tor_.add(found.takes_turn ? 1 : 0);
    backchannel_frequency_.add(static_cast<double>(found.segments.size()) / duration_s);
    if (distributions_.empty()) return;
    const auto expected = distributions_.find(example.id);
    if (expected == distributions_.end()) {
      throw distribution_error(*options_.backchannel_distributions, example.id,
                               "is an example, and the file has no distribution of it");
    }
    backchannel_distance_.add(backchannel_distance(found.segments, duration_s, expected->second));
  }

  FullDuplexBenchOptions options_;
  std::unique_ptr<Silero> silero_;  // not null for the task backchannel
  Distributions distributions_;     // by example; empty: no distances
  Mean pause_tor_, backchannel_tor_, backchannel_frequency_, backchannel_distance_;
  Answers answer_, interruption_;
};

std::unique_ptr<Metric> create_full_duplex_bench(const Config& node, const BuildContext& context) {
  const auto options = read_options<FullDuplexBenchOptions>(node, context.path);
  if (options.has("backchannel") && !options.silero.path) throw no_silero(context.path);
  return std::make_unique<FullDuplexBench>(options, context);
}

}  // namespace

Component<Metric> full_duplex_bench() {
  return {.name = "full_duplex_bench",
          .summary = "the numbers of Full-Duplex-Bench's data sets, from a scorer's words",
          .create = create_full_duplex_bench,
          .options = list_options<FullDuplexBenchOptions>,
          .tiny = R"({"tasks": ["smooth_turn_taking"]})",
          .weights = {{"silero-vad", "MIT"}}};
}

}  // namespace s2s::turn_taking
