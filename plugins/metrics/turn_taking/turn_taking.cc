// Whether the agent answers in time, stays silent in pauses and stops when interrupted.
// Definitions: core/docs/reference/metrics.md, "Turn taking".

#include "s2s/scores/turn_taking.h"

#include <algorithm>
#include <memory>

#include "components.h"
#include "silero.h"

namespace s2s::turn_taking {
namespace {

using Better = MetricValue::Better;
using Rate = std::optional<double>;

Rate share(int64_t part, int64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

Rate seconds_share(double part_s, double whole_s) {
  return whole_s > 0 ? Rate(part_s / whole_s) : Rate();
}

Rate negative_share(const std::vector<double>& latencies_s) {
  const auto negative = std::count_if(latencies_s.begin(), latencies_s.end(),
                                      [](double latency_s) { return latency_s < 0; });
  return share(negative, static_cast<int64_t>(latencies_s.size()));
}

struct Score {
  const char* name;
  const char* label;  // "": in scores.json only
  const char* hint;
  const char* unit;
  Better better;
  bool is_logged;
  Rate (*value)(const DuplexCounts&);
};

// clang-format off
constexpr Score kScores[] = {
    {"takeover_rate", "takes the turn", "user turns that were answered in time", "%",
     Better::kHigher, true, [](const DuplexCounts& c) { return share(c.takeovers, c.turn_ends); }},
    {"latency_median_s", "latency, median", "from the user's last word to the agent's first", "s",
     Better::kLower, true, [](const DuplexCounts& c) { return percentile(c.latencies_s, 50); }},
    {"latency_p90_s", "latency, 90th percentile", "nine of ten answers begin within this", "s",
     Better::kLower, true, [](const DuplexCounts& c) { return percentile(c.latencies_s, 90); }},
    {"latency_negative_share", "begins too early", "answers that begin before the user ends", "%",
     Better::kLower, false, [](const DuplexCounts& c) { return negative_share(c.latencies_s); }},
    {"pause_rate", "speaks in a pause", "pauses of the user in which the agent began to speak", "%",
     Better::kLower, true, [](const DuplexCounts& c) { return share(c.pauses_spoken, c.pauses); }},
    {"stop_rate", "stops when interrupted",
     "interruptions after which the agent was soon silent", "%", Better::kHigher, true,
     [](const DuplexCounts& c) { return share(c.interruptions_stopped, c.interruptions); }},
    {"stop_latency_median_s", "time to stop, median",
     "from the interruption to the agent's silence", "s", Better::kLower, true,
     [](const DuplexCounts& c) { return percentile(c.stop_latencies_s, 50); }},
    {"stop_latency_p90_s", "", "", "s", Better::kLower, false,
     [](const DuplexCounts& c) { return percentile(c.stop_latencies_s, 90); }},
    {"false_start_rate", "false starts", "quiet stretches in which the agent spoke unasked", "%",
     Better::kLower, true,
     [](const DuplexCounts& c) { return share(c.quiet_stretches_spoken, c.quiet_stretches); }},
    {"agent_speech_ratio", "agent speaks", "share of the time", "%", Better::kNeither, true,
     [](const DuplexCounts& c) { return seconds_share(c.agent_speech_s, c.duration_s); }},
    {"overlap_ratio", "both speak", "share of the time", "%", Better::kNeither, false,
     [](const DuplexCounts& c) { return seconds_share(c.overlap_s, c.duration_s); }},
};
// clang-format on

class TurnTaking final : public Metric {
 public:
  explicit TurnTaking(std::unique_ptr<Silero> silero) : silero_(std::move(silero)) {}
  MetricScope scope() const override { return MetricScope::kVoices; }
  bool needs_audio() const override { return silero_ != nullptr; }
  void add(const MetricExample& example) override {
    const Spoken &user = example.user, &agent = example.hypothesis;
    sum_ +=
        count_turn_taking({example.turns, silero_ ? (*silero_)(user.audio) : user.speech,
                           silero_ ? (*silero_)(agent.audio) : agent.speech, example.duration_s});
  }
  std::vector<MetricValue> values() const override {
    std::vector<MetricValue> out;
    for (const Score& score : kScores) {
      MetricValue value;
      value.name = score.name;
      value.value = score.value(sum_).value_or(value.value);
      value.better = score.better;
      value.label = score.label;
      value.hint = score.hint;
      value.unit = score.unit;
      value.is_logged = score.is_logged;
      value.is_in_tables = !value.label.empty();
      out.push_back(std::move(value));
    }
    for (const auto& [name, count] : {std::pair{"turn_ends", sum_.turn_ends},
                                      {"pauses", sum_.pauses},
                                      {"interruptions", sum_.interruptions},
                                      {"false_starts", sum_.false_starts},
                                      {"quiet_stretches", sum_.quiet_stretches}}) {
      out.push_back({.name = name,
                     .value = static_cast<double>(count),
                     .is_logged = false,
                     .is_in_tables = false,
                     .is_count = true});
    }
    return out;
  }

 private:
  std::unique_ptr<Silero> silero_;  // null: by levels
  DuplexCounts sum_;
};

std::unique_ptr<Metric> create_turn_taking(const Config& node, const BuildContext& context) {
  const auto options = read_options<TurnTakingOptions>(node, context.path);
  return std::make_unique<TurnTaking>(Silero::create(options.silero, context));
}

}  // namespace

Component<Metric> turn_taking() {
  return {.name = "turn_taking",
          .summary = "answers in time, silence in pauses, stops when interrupted",
          .create = create_turn_taking,
          .options = list_options<TurnTakingOptions>,
          .weights = {{"silero-vad", "MIT"}}};
}

}  // namespace s2s::turn_taking
