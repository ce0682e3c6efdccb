// The turn metrics of the package voicebench, from the audio of the user and of the agent.

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "components.h"
#include "rounding.h"
#include "voicebench_numbers.h"

namespace s2s::turn_taking {
namespace {

/// What is summed over dialogues.
struct VoicebenchSums {
  int64_t turns = 0, passed = 0;
  int64_t missed_responses = 0, talk_overs = 0;
  int64_t barge_ins = 0, barge_ins_stopped = 0;
  int64_t noise_turns = 0, false_barge_ins = 0, spurious_responses = 0;
  std::vector<double> latencies_ms, ttfas_ms, stops_ms;
  double overlap_ms = 0, talk_over_ms = 0;

  void add(const VoicebenchTurnResult& turn) {
    const auto keep = [](const std::optional<double>& from, std::vector<double>& to) {
      if (from) to.push_back(*from);
    };
    ++turns;
    passed += turn.passed ? 1 : 0;
    if (turn.expect == Expect::kRespond) {
      missed_responses += turn.responded ? 0 : 1;
      talk_overs += turn.talk_over ? 1 : 0;
      keep(turn.response_latency_ms, latencies_ms);
      keep(turn.ttfa_ms, ttfas_ms);
    } else if (turn.expect == Expect::kStop) {
      ++barge_ins;
      barge_ins_stopped += turn.stopped ? 1 : 0;
      keep(turn.stop_latency_ms, stops_ms);
    } else {
      ++noise_turns;
      false_barge_ins += turn.false_barge_in ? 1 : 0;
      spurious_responses += turn.spurious_response ? 1 : 0;
    }
  }
};

/// Values under the package's names: with the prefix voicebench_ in metrics.jsonl.
class VoicebenchValues {
 public:
  void add(const std::string& name, double value, MetricValue::Better better,
           const char* label = "", const char* hint = "") {
    MetricValue out;
    out.name = "voicebench_" + name;
    out.json_name = name;
    out.value = value;
    out.better = better;
    out.label = label;
    out.hint = hint;
    out.is_logged = out.is_in_tables = !out.label.empty();
    values_.push_back(std::move(out));
  }
  void add_rate(const std::string& name, double value, const char* label, const char* hint) {
    add(name, value, MetricValue::Better::kHigher, label, hint);
    values_.back().unit = "%";
  }
  void add_count(const std::string& name, int64_t value, const char* label = "",
                 const char* hint = "") {
    add(name, static_cast<double>(value),
        *label == '\0' ? MetricValue::Better::kNeither : MetricValue::Better::kLower, label, hint);
    values_.back().is_count = true;
  }
  void add_times(const std::string& name, const std::vector<double>& values, const char* median,
                 const char* p90, const char* hint) {
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    const auto less_is_better = MetricValue::Better::kLower;
    const VoicebenchStats stats = voicebench_stats(values);
    add_count(name + "_count", stats.count);
    add(name + "_min", stats.min.value_or(kNothing), less_is_better);
    add(name + "_p50", stats.p50.value_or(kNothing), less_is_better, median, hint);
    add(name + "_p90", stats.p90.value_or(kNothing), less_is_better, p90, hint);
    add(name + "_max", stats.max.value_or(kNothing), less_is_better);
    add(name + "_mean", stats.mean.value_or(kNothing), less_is_better);
  }
  std::vector<MetricValue> take() { return std::move(values_); }

 private:
  std::vector<MetricValue> values_;
};

class Voicebench final : public Metric {
 public:
  explicit Voicebench(VoicebenchOptions options) : options_(std::move(options)) {}
  MetricScope scope() const override { return MetricScope::kVoices; }
  bool needs_audio() const override { return true; }

  void add(const MetricExample& example) override {
    const VoicebenchResult found = voicebench_analyze(session_of(example), options_.frame_ms);
    for (const VoicebenchTurnResult& turn : found.turns) sums_.add(turn);
    sums_.overlap_ms += found.overlap_ms;
    sums_.talk_over_ms += found.talk_over_ms;
  }

  std::vector<MetricValue> values() const override {
    const VoicebenchSums& sums = sums_;
    VoicebenchValues out;
    out.add_count("turns", sums.turns);
    out.add_count("turns_passed", sums.passed);
    out.add_times("response_latency_ms", sums.latencies_ms, "response latency, median, ms",
                  "response latency, 90th percentile, ms",
                  "from the end of the user's speech to the onset of the agent's");
    out.add_times("ttfa_ms", sums.ttfas_ms, "first audio, median, ms",
                  "first audio, 90th percentile, ms",
                  "from the end of the user's speech to the agent's first packet of sound");
    out.add_count("missed_responses", sums.missed_responses, "missed responses",
                  "user turns without an answer in time");
    out.add_count("talk_overs", sums.talk_overs, "talk-overs",
                  "answers that begin before the user's speech ends");
    out.add_count("barge_in_turns", sums.barge_ins);
    out.add_rate(
        "barge_in_success_rate",
        rounded(static_cast<double>(sums.barge_ins_stopped) / static_cast<double>(sums.barge_ins),
                4),
        "stops at a barge-in", "barge-ins after which the agent is silent in time");
    out.add_times("barge_in_stop_ms", sums.stops_ms, "time to stop, median, ms",
                  "time to stop, 90th percentile, ms",
                  "from the barge-in to the end of the agent's speech");
    out.add_count("noise_turns", sums.noise_turns);
    out.add_count("false_barge_ins", sums.false_barge_ins, "false barge-ins",
                  "the agent stops for a turn that wants no reaction");
    out.add_count("spurious_responses", sums.spurious_responses, "spurious responses",
                  "the agent answers a turn that wants no reaction");
    const auto less_is_better = MetricValue::Better::kLower;
    out.add("overlap_ms", rounded(sums.overlap_ms, 1), less_is_better);
    out.add("talk_over_ms", rounded(sums.talk_over_ms, 1), less_is_better, "talk-over, ms",
            "both speak in turns that want an answer");
    return out.take();
  }

 private:
  VoicebenchSession session_of(const MetricExample& example) const {
    VoicebenchSession session;
    session.user = voicebench_track(example.user.audio, options_.sample_rate);
    session.agent = voicebench_track(example.hypothesis.audio, options_.sample_rate);
    const size_t length = std::max(session.user.samples.size(), session.agent.samples.size());
    session.user.samples.resize(length);
    session.agent.samples.resize(length);
    session.user_speech = voicebench_speech(session.user, options_.vad.user);
    session.agent_speech = voicebench_speech(session.agent, options_.vad.agent);
    session.response_timeout_ms = options_.response_timeout_ms;
    session.max_stop_ms = options_.max_stop_ms;
    add_turns(example, session);
    return session;
  }

  void add_turns(const MetricExample& example, VoicebenchSession& session) const {
    std::vector<VoicebenchTurn>& turns = session.turns;
    if (options_.user_turns == "audio") {
      for (const SpeechSegment& segment : session.user_speech) {
        turns.push_back({Expect::kRespond, segment.start_s, segment.end_s});
      }
    } else {
      for (const Turn& turn : example.turns) {
        if (!turn.is_agent) turns.push_back({Expect::kRespond, turn.start_s, turn.end_s});
      }
      std::stable_sort(turns.begin(), turns.end(),
                       [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    }
    const bool is_ignored = std::find(options_.ignore.begin(), options_.ignore.end(),
                                      example.data_set) != options_.ignore.end();
    for (VoicebenchTurn& turn : turns) {
      if (is_ignored) {
        turn.expect = Expect::kIgnore;
      } else if (voicebench_interrupted(session, turn) != nullptr) {
        turn.expect = Expect::kStop;
      }
    }
  }

  VoicebenchOptions options_;
  VoicebenchSums sums_;
};

std::unique_ptr<Metric> create_voicebench(const Config& node, const BuildContext& context) {
  return std::make_unique<Voicebench>(read_options<VoicebenchOptions>(node, context.path));
}

}  // namespace

Component<Metric> voicebench() {
  return {.name = "voicebench",
          .summary = "turn metrics of the package voicebench, from levels of both voices",
          .create = create_voicebench,
          .options = list_options<VoicebenchOptions>,
          .tiny = R"({"user_turns": "audio"})"};
}

}  // namespace s2s::turn_taking
