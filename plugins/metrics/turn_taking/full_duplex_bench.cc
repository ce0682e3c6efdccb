// Full-Duplex-Bench's numbers, for data sets of its tasks.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "components.h"
#include "full_duplex_numbers.h"
#include "full_duplex_overlap.h"
#include "s2s/data/resample.h"
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

bool has_samples(const AudioClip& clip) {
  return clip.samples_S.defined() && clip.samples_S.numel() > 0;
}

/// Of Full-Duplex-Bench 1.5: when the agent stops and answers.
struct Timing {
  Mean stop_s, response_s;

  void add(const OverlapTiming& found) {
    for (const SpeechSegment& stop : found.stops) stop_s.add(stop.end_s - stop.start_s);
    for (const SpeechSegment& gap : found.responses) response_s.add(gap.end_s - gap.start_s);
  }
  void append_to(std::vector<MetricValue>& out) const {
    out.push_back({.name = "fdb_stop_latency_s",
                   .value = stop_s.value(),
                   .better = Better::kLower,
                   .label = "time to stop, mean",
                   .hint = "mean length of the stretches in which both speak",
                   .unit = "s"});
    out.push_back({.name = "fdb_response_latency_s",
                   .value = response_s.value(),
                   .better = Better::kLower,
                   .label = "time to answer, mean",
                   .hint = "mean time from a user's end to the agent's next onset",
                   .unit = "s"});
  }
};

/// Of Full-Duplex-Bench 1.5: the agent's voice before and after the end of the user's last turn.
class BeforeAfter {
 public:
  BeforeAfter(const SileroOptions& vad, const BuildContext& context)
      : silero_(Silero::create(before_after_vad(vad.path), context)) {}

  void add(const AudioClip& clip, std::vector<RecognizedWord> words, double user_end_s) {
    if (!has_samples(clip)) return;
    constexpr int64_t kRate_hz = SileroNetwork::kRate_hz;
    const at::Tensor samples_S =
        resample(clip.samples_S.to(at::kCPU, at::kFloat), clip.sample_rate_hz, kRate_hz);
    const int64_t size = samples_S.numel();
    const double split_s = std::clamp(split_time_s(words, user_end_s), 0.0,
                                      static_cast<double>(size) / static_cast<double>(kRate_hz));
    const int64_t at = std::clamp<int64_t>(std::llrint(split_s * kRate_hz), 0, size);
    const auto after = std::stable_partition(
        words.begin(), words.end(), [&](const auto& word) { return word.end_s <= split_s; });
    add_side(samples_S.narrow(0, 0, at), {words.begin(), after}, before_);
    add_side(samples_S.narrow(0, at, size - at), {after, words.end()}, after_);
  }

  void append_to(std::vector<MetricValue>& out) const {
    for (const auto& [name, side] : {std::pair("fdb_pre_", &before_), {"fdb_post_", &after_}}) {
      for (size_t i = 0; i < kVoiceNumbers.size(); ++i) {
        out.push_back({.name = std::string(name) + kVoiceNumbers[i],
                       .value = trimmed_mean((*side)[i]),
                       .hint = "the agent's voice before (pre) and after (post) the user's end"});
      }
    }
  }

 private:
  using Side = std::array<std::vector<double>, kVoiceNumbers.size()>;  // by number

  void add_side(const at::Tensor& samples_S, const std::vector<RecognizedWord>& words,
                Side& to) const {
    if (samples_S.numel() == 0) return;
    const VoiceNumbers found =
        voice_numbers(samples_S, silero_->spans({samples_S, SileroNetwork::kRate_hz}), words);
    for (size_t i = 0; i < found.size(); ++i) to[i].push_back(found[i]);
  }

  std::unique_ptr<Silero> silero_;
  Side before_, after_;
};

class FullDuplexBench final : public Metric {
 public:
  FullDuplexBench(FullDuplexBenchOptions options, const BuildContext& context)
      : options_(std::move(options)),
        silero_(Silero::create(options_.silero, context)),
        distributions_(distributions_of(options_, context)),
        before_after_(options_.silero, context) {}
  MetricScope scope() const override { return MetricScope::kVoices; }
  bool needs_audio() const override { return silero_ != nullptr; }

  void add(const MetricExample& example) override {
    const auto is_of = [&](const char* task, const std::vector<std::string>& sets) {
      return options_.has(task) &&
             std::find(sets.begin(), sets.end(), example.data_set) != sets.end();
    };
    if (is_of("timing", options_.overlap)) {
      timing_.add(
          overlap_timing((*silero_)(example.user.audio), (*silero_)(example.hypothesis.audio)));
    }
    if (!example.hypothesis.heard) return;
    const std::vector<RecognizedWord>& words = *example.hypothesis.heard;
    const std::optional<double> end_s = user_end_s(example);
    if (is_of("pause_handling", options_.pause_handling)) pause_tor_.add(takes_turn(words) ? 1 : 0);
    if (is_of("smooth_turn_taking", options_.smooth_turn_taking) && end_s) {
      answer_.add(words, *end_s);
    }
    if (is_of("user_interruption", options_.user_interruption) && end_s) {
      interruption_.add(words_after(words, *end_s), *end_s);
    }
    if (is_of("backchannel", options_.backchannel)) add_backchannels(example, words);
    if (is_of("general_before_after", options_.overlap) && end_s) {
      before_after_.add(example.hypothesis.audio, words, *end_s);
    }
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
    if (options_.has("timing")) timing_.append_to(out);
    if (options_.has("general_before_after")) before_after_.append_to(out);
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
    if (!has_samples(clip)) return;
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
  std::unique_ptr<Silero> silero_;  // not null for tasks that need it
  Distributions distributions_;     // by example; empty: no distances
  Mean pause_tor_, backchannel_tor_, backchannel_frequency_, backchannel_distance_;
  Answers answer_, interruption_;
  Timing timing_;
  BeforeAfter before_after_;
};

std::unique_ptr<Metric> create_full_duplex_bench(const Config& node, const BuildContext& context) {
  const auto options = read_options<FullDuplexBenchOptions>(node, context.path);
  for (const char* const task : {"backchannel", "timing", "general_before_after"}) {
    if (options.has(task) && !options.silero.path) throw no_silero(context.path, task);
  }
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
