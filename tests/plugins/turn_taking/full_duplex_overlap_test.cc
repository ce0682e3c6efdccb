// Full-Duplex-Bench 1.5: equal to its scripts on the dialogues of full_duplex_overlap.py.

#include "plugins/metrics/turn_taking/full_duplex_overlap.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "common/places.h"
#include "common/reference_json.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/metrics/turn_taking/components.h"
#include "plugins/turn_taking/metric_values.h"
#include "s2s/error.h"
#include "weights/safetensors.h"

namespace s2s::turn_taking {
namespace {

using nlohmann::json;

constexpr double kRate_hz = 16000;

std::vector<SpeechSegment> seconds_of(const json& spans) {
  std::vector<SpeechSegment> out;
  for (const json& span : spans) {
    out.push_back({span[0].get<double>() / kRate_hz, span[1].get<double>() / kRate_hz});
  }
  return out;
}

json list_of(const std::vector<SpeechSegment>& segments) {
  json out = json::array();
  for (const SpeechSegment& segment : segments) out.push_back({segment.start_s, segment.end_s});
  return out;
}

TEST_CASE("stops and responses are those of get_timing.py") {
  const json peer = test::reference_json("full_duplex_overlap.json.gz");
  size_t stops = 0, responses = 0;
  for (const json& from : peer["timings"]) {
    CAPTURE(from.dump());
    const OverlapTiming found = overlap_timing(seconds_of(from["user"]), seconds_of(from["agent"]));
    CHECK(list_of(found.stops) == from["stop"]);
    CHECK(list_of(found.responses) == from["response"]);
    stops += found.stops.size();
    responses += found.responses.size();
  }
  CHECK(stops > 50);
  CHECK(responses > 20);
}

/// The audio of full_duplex_overlap.py.
at::Tensor audio_of(const json& sounds) {
  std::vector<float> out;
  for (const json& sound : sounds) {
    const double samples = sound[0], first = sound[1], last = sound[2], amplitude = sound[3];
    for (int64_t i = 0; i < sound[0]; ++i) {
      const double t = static_cast<double>(i) / kRate_hz;
      const double phase =
          2 * std::numbers::pi * (first * t + (last - first) * t * t / (2 * samples / kRate_hz));
      out.push_back(static_cast<float>(
          amplitude * (std::sin(phase) + std::sin(2 * phase + 1) / 2 + std::sin(3 * phase) / 3)));
    }
  }
  return at::tensor(out);
}

std::vector<SampleSpan> speech_of(const json& runs, int64_t num_samples) {
  std::vector<float> probabilities;
  for (const json& run : runs) probabilities.insert(probabilities.end(), run[0], run[1]);
  probabilities.resize(static_cast<size_t>((num_samples + 511) / 512));
  return speech_spans(probabilities, num_samples, before_after_vad({}));
}

std::vector<RecognizedWord> words_beside(const json& example, double split_s, bool is_before) {
  std::vector<RecognizedWord> out;
  for (const json& word : example["words"]) {
    if ((word[1] <= split_s) == is_before) out.push_back({"word", word[0], word[1]});
  }
  return out;
}

TEST_CASE("the voice before and after an overlap is that of eval_general_before_after.py") {
  const json peer = test::reference_json("full_duplex_overlap.json.gz");
  std::map<std::string, std::vector<double>> values[2];
  for (const json& from : peer["voices"]) {
    CAPTURE(from.dump());
    const at::Tensor samples_S = audio_of(from["sounds"]);
    const double end_s = static_cast<double>(samples_S.numel()) / kRate_hz;
    std::vector<RecognizedWord> words = words_beside(from, 1e9, true);
    const double split_s = std::clamp(split_time_s(words, from["end_s"]), 0.0, end_s);
    CHECK(split_s == doctest::Approx(from["split_t"]).epsilon(1e-12));
    const int64_t at = std::llrint(split_s * kRate_hz);
    for (const bool is_before : {true, false}) {
      const json& expected = from[is_before ? "pre" : "post"];
      const at::Tensor side_S =
          is_before ? samples_S.slice(0, 0, at) : samples_S.slice(0, at, samples_S.numel());
      CHECK(expected.empty() == (side_S.numel() == 0));
      if (expected.empty()) continue;
      const auto speech = speech_of(from["probabilities"][is_before ? 0 : 1], side_S.numel());
      const VoiceNumbers found =
          voice_numbers(side_S, speech, words_beside(from, split_s, is_before));
      for (size_t i = 0; i < found.size(); ++i) {
        CAPTURE(kVoiceNumbers[i]);
        CHECK(found[i] == doctest::Approx(expected[kVoiceNumbers[i]]).epsilon(1e-5));
        values[is_before ? 0 : 1][kVoiceNumbers[i]].push_back(found[i]);
      }
    }
  }
  for (const auto& [name, value] : peer["summary"]["pre"].items()) {
    CAPTURE(name);
    CHECK(trimmed_mean(values[0][name]) == doctest::Approx(value).epsilon(1e-5));
    CHECK(trimmed_mean(values[1][name]) ==
          doctest::Approx(peer["summary"]["post"][name]).epsilon(1e-5));
  }
  CHECK(std::isnan(trimmed_mean({})));
  CHECK(trimmed_mean({1, 3}) == 2);
}

TEST_CASE("the tasks of version 1.5 need Silero's network, and take the sets of `overlap`") {
  for (const std::string task : {"timing", "general_before_after"}) {
    CHECK_THROWS_WITH_AS(
        test::metric_of(full_duplex_bench(), R"({"tasks": [")" + task + "\"]}"),
        doctest::Contains(
            ("[metric/no-silero] model.metrics.silero.path: not set, and the task " + task)
                .c_str()),
        Error);
  }
  const test::TemporaryFolder folder;
  const std::string path = folder / "silero.safetensors";
  write_safetensors(
      path,
      read_reference(test::source_dir() + "/tests/reference/data/silero_vad.safetensors").weights,
      {});
  const auto found = test::metric_of(
      full_duplex_bench(), R"({"tasks": ["timing", "general_before_after"], "silero": {"path": ")" +
                               path + R"(", "threshold": 0.05}, "overlap": ["mine"]})");
  CHECK(found->needs_audio());
  MetricExample example;
  example.turns = {{false, 0, 1.2, ""}};
  example.hypothesis.audio = example.user.audio = {audio_of({{24000, 200, 220, 0.1}}), 16000};
  found->add(example);
  CHECK(test::numbers(*found).empty());
  example.data_set = "mine";
  example.hypothesis.heard = {{"well", 0.1, 0.3}, {"yes", 1.3, 1.5}};
  found->add(example);
  const auto values = test::numbers(*found);
  CHECK(values.size() == 13);
  CHECK(values.at("fdb_stop_latency_s") > 1);
  CHECK_FALSE(values.contains("fdb_response_latency_s"));
  CHECK(values.at("fdb_pre_wpm") == doctest::Approx(300));
  CHECK(values.at("fdb_post_speech_dur_s") == doctest::Approx(0.2));
  CHECK(values.at("fdb_pre_mean_pitch") == doctest::Approx(210).epsilon(0.05));
}

}  // namespace
}  // namespace s2s::turn_taking
