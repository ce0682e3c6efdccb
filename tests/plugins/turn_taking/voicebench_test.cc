// The turn metrics of voicebench: equal to the package's on the dialogues of voicebench_turns.py.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/reference_json.h"
#include "plugins/metrics/turn_taking/components.h"
#include "plugins/metrics/turn_taking/voicebench_numbers.h"
#include "plugins/turn_taking/metric_values.h"
#include "s2s/error.h"

namespace s2s::turn_taking {
namespace {

using nlohmann::json;

/// The noise of voicebench_turns.py.
const std::vector<double>& noise() {
  static const std::vector<double> numbers = [] {
    std::vector<double> out;
    uint64_t state = 1;
    for (int i = 0; i < 4099; ++i) {
      state = (state * 1103515245 + 12345) % (uint64_t{1} << 31);
      out.push_back(static_cast<double>(state) / (1 << 30) - 1);
    }
    return out;
  }();
  return numbers;
}

AudioClip clip_of(const json& rule) {
  AudioClip clip{at::zeros({rule["samples"].get<int64_t>()}), rule["rate"]};
  auto* const samples = clip.samples_S.mutable_data_ptr<float>();
  for (const json& sound : rule["sounds"]) {
    const double peak = sound[2];
    for (size_t i = sound[0]; i < sound[1]; ++i) {
      samples[i] = static_cast<float>(peak * noise()[i % noise().size()]);
    }
  }
  return clip;
}

VoicebenchVadOptions vad_of(const json& from) {
  VoicebenchVadOptions options;
  if (!from.contains("vad")) return options;
  const json& vad = from["vad"];
  options.threshold_db = vad["threshold_db"];
  options.hysteresis_db = vad["hysteresis_db"];
  options.frame_ms = vad["frame_ms"];
  options.min_speech_ms = vad["min_speech_ms"];
  options.min_silence_ms = vad["min_silence_ms"];
  return options;
}

VoicebenchSession session_of(const json& from) {
  static const std::map<std::string, Expect> kExpect = {
      {"respond", Expect::kRespond}, {"stop", Expect::kStop}, {"ignore", Expect::kIgnore}};
  VoicebenchSession session;
  session.user = voicebench_track(clip_of(from["user"]), from["rate"]);
  session.agent = voicebench_track(clip_of(from["agent"]), from["rate"]);
  const size_t length = std::max(session.user.samples.size(), session.agent.samples.size());
  session.user.samples.resize(length);
  session.agent.samples.resize(length);
  session.user_speech = voicebench_speech(session.user, vad_of(from));
  session.agent_speech = voicebench_speech(session.agent, vad_of(from));
  for (size_t i = 0; i < from["turns"].size(); ++i) {
    const json& turn = from["turns"][i];
    session.turns.push_back({kExpect.at(from["expect"][i]), turn[0], turn[1]});
  }
  session.response_timeout_ms = from["response_timeout_ms"];
  session.max_stop_ms = from["max_stop_ms"];
  return session;
}

/// Begins and ends in frames.
std::vector<int64_t> in_frames(const std::vector<SpeechSegment>& speech, double frame_s) {
  std::vector<int64_t> out;
  for (const SpeechSegment& segment : speech) {
    out.push_back(std::llround(segment.start_s / frame_s));
    out.push_back(std::llround(segment.end_s / frame_s));
  }
  return out;
}

json json_of(const VoicebenchTurnResult& turn) {
  const auto of = [](const std::optional<double>& value) { return value ? json(*value) : json(); };
  const auto flag = [](bool value) { return json(value ? 1 : 0); };
  return {of(turn.response_latency_ms),
          of(turn.ttfa_ms),
          of(turn.stop_latency_ms),
          flag(turn.responded),
          flag(turn.talk_over),
          flag(turn.stopped),
          flag(turn.false_barge_in),
          flag(turn.spurious_response),
          flag(turn.passed)};
}

TEST_CASE("speech and turns are exactly the package's") {
  const json peer = test::reference_json("voicebench_turns.json.gz");
  CHECK(peer["dialogues"].size() >= 200);
  for (const json& from : peer["dialogues"]) {
    CAPTURE(from.dump());
    const VoicebenchSession session = session_of(from);
    const auto rate = from["rate"].get<double>();
    const double frame_s = std::nearbyint(vad_of(from).frame_ms * rate / 1000) / rate;
    CHECK(in_frames(session.user_speech, frame_s) == from["speech"][0]);
    CHECK(in_frames(session.agent_speech, frame_s) == from["speech"][1]);
    const VoicebenchResult found = voicebench_analyze(session, from["packet_ms"]);
    REQUIRE(found.turns.size() == from["results"].size());
    for (size_t i = 0; i < found.turns.size(); ++i) {
      CHECK(json_of(found.turns[i]) == from["results"][i]);
    }
    CHECK(found.overlap_ms == from["overlap_ms"].get<double>());
    CHECK(found.talk_over_ms == from["talk_over_ms"].get<double>());
  }
}

MetricExample dialogue_of(const json& from) {
  MetricExample example;
  example.data_set = from["set"];
  example.user.audio = clip_of(from["user"]);
  example.hypothesis.audio = clip_of(from["agent"]);
  for (const json& turn : from["turns"]) {
    // An agent's turn is none of the user's.
    example.turns.insert(example.turns.begin(), {false, turn[0], turn[1], ""});
    example.turns.push_back({true, turn[0], turn[1], ""});
  }
  return example;
}

/// Under the package's names.
std::map<std::string, double> summary_of(const Metric& metric) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : test::numbers(metric)) {
    REQUIRE(name.starts_with("voicebench_"));
    out[name.substr(std::string("voicebench_").size())] = value;
  }
  return out;
}

/// The summary of the package, without what is null and what we leave out.
std::map<std::string, double> numbers_of(const json& summary) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : summary.items()) {
    if (value.is_number() && name != "sessions") out[name] = value;
    if (!value.is_object()) continue;
    for (const auto& [of, number] : value.items()) {
      if (number.is_number()) out[name + "_" + of] = number;
    }
  }
  return out;
}

TEST_CASE("the metric has the package's summary") {
  const json peer = test::reference_json("voicebench_turns.json.gz");
  for (const json& summary : peer["metric"]) {
    CAPTURE(summary.dump());
    const json options = {{"user_turns", "data"},
                          {"ignore", {"noise"}},
                          {"sample_rate", summary[0]},
                          {"frame_ms", summary[1]},
                          {"response_timeout_ms", summary[2]},
                          {"max_stop_ms", summary[3]}};
    const auto found = test::metric_of(voicebench(), options.dump());
    CHECK(found->needs_audio());
    for (const json& from : peer["dialogues"]) {
      const bool is_of = from["rate"] == summary[0] && from["packet_ms"] == summary[1] &&
                         from["response_timeout_ms"] == summary[2] &&
                         from["max_stop_ms"] == summary[3] && !from.contains("vad");
      if (is_of) found->add(dialogue_of(from));
    }
    CHECK(summary_of(*found) == numbers_of(summary[4]));
  }
}

/// Noise from `begin_s` to `end_s` in `seconds` at 16 kHz.
AudioClip heard(double seconds, double begin_s, double end_s) {
  return clip_of({{"rate", 16000},
                  {"samples", seconds * 16000},
                  {"sounds", {{begin_s * 16000, end_s * 16000, 0.1}}}});
}

TEST_CASE("turns of the user's audio need no plan, and a silent example is none") {
  const auto found = test::metric_of(voicebench(), R"({"user_turns": "audio"})");
  MetricExample example;
  found->add(example);
  CHECK(summary_of(*found)["turns"] == 0);
  example.user.audio = heard(4, 1, 2);
  example.hypothesis.audio = heard(4, 2.3, 3);
  found->add(example);
  auto values = summary_of(*found);
  CHECK(values["turns"] == 1);
  CHECK(values["turns_passed"] == 1);
  CHECK(values["response_latency_ms_p50"] == doctest::Approx(300));
  CHECK_FALSE(values.contains("barge_in_success_rate"));
  example.hypothesis.audio = heard(4, 0.5, 1.4);
  found->add(example);
  values = summary_of(*found);
  CHECK(values["barge_in_success_rate"] == 1);
  CHECK(values["barge_in_stop_ms_p50"] == doctest::Approx(400));
}

TEST_CASE("wrong options are refused") {
  CHECK_THROWS_WITH_AS(test::metric_of(voicebench(), "{}"), doctest::Contains("[config/missing]"),
                       Error);
  CHECK_THROWS_WITH_AS(test::metric_of(voicebench(), R"({"user_turns": "words"})"),
                       doctest::Contains("audio"), Error);
  CHECK_THROWS_WITH_AS(
      test::metric_of(voicebench(), R"({"user_turns": "data", "vad": {"usr": {}}})"),
      doctest::Contains("unknown key 'usr' in model.metrics.vad"), Error);
  CHECK_THROWS_WITH_AS(
      test::metric_of(voicebench(), R"({"user_turns": "data", "vad": {"agent": {"frame_ms": 0}}})"),
      doctest::Contains("model.metrics.vad.agent.frame_ms"), Error);
}

}  // namespace
}  // namespace s2s::turn_taking
