#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "eval/metrics/data_set_board.h"
#include "eval/metrics/example_measures.h"
#include "plugins/built_metrics.h"

namespace s2s {
namespace {

/// A question from 1 s to 3 s, whose answer is planned at 3.24 s.
void add_question(DataSetBoard& board, std::vector<SpeechSegment> heard) {
  ReportExample example;
  example.turns = {{false, 1, 3, ""}, {true, 3.24, 5, ""}};
  board.add(example, {8, {{1, 3}}, std::move(heard), {}, {}});
}

TEST_CASE("dialogues add up, and a score without an occasion is not there") {
  DataSetBoard board("dev", test::built_metrics());
  add_question(board, {{3.2, 5}});
  add_question(board, {{3.4, 5}});
  add_question(board, {});
  const auto numbers = board.numbers();
  CHECK(numbers.at("takeover_rate") == doctest::Approx(2.0 / 3));
  CHECK(numbers.at("latency_median_s") == doctest::Approx(0.3));
  CHECK_FALSE(numbers.contains("stop_rate"));
  CHECK_FALSE(numbers.contains("turn_ends"));
  const nlohmann::json turns = board.to_json()["turn_taking"]["model"];
  CHECK(turns["stop_rate"].is_null());
  CHECK(turns["turn_ends"] == 3);
  CHECK(turns["latency_negative_share"] == 0);
}

TEST_CASE("an answer that begins before the user ends is too early") {
  DataSetBoard board("dev", test::built_metrics());
  add_question(board, {{2.5, 5}});
  CHECK(board.to_json()["turn_taking"]["model"]["latency_negative_share"] == 1);
}

TEST_CASE("turn taking needs no audio when its speech is known") {
  ReportExample example;
  example.texts = {"set a timer", "set a timer", "set a time", "set a timer", "set a timer"};
  example.turns = {{false, 0, 1, "please"}, {true, 1.2, 2, "set a timer"}};
  const at::Tensor silence_S = at::zeros({16000});
  const at::Tensor speech_S = at::sin(at::arange(16000) * 0.1);
  const at::Tensor rest_S = at::zeros({32000});
  example.user = {at::cat({speech_S, silence_S, rest_S}), 16000};
  example.answer = {at::cat({silence_S, speech_S, rest_S}), 16000};
  DataSetBoard with_audio("dev", test::built_metrics()), without("dev", test::built_metrics());
  with_audio.add(example, speech_of(example));
  CHECK(with_audio.numbers().contains("takeover_rate"));
  keep_speech(example, /*and_clips=*/false);
  CHECK_FALSE(example.answer.samples_S.defined());
  without.add(example, speech_of(example));
  CHECK(without.numbers() == with_audio.numbers());
}

}  // namespace
}  // namespace s2s
