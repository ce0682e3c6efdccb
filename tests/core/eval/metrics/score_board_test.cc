#include "eval/metrics/score_board.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace s2s {
namespace {

TEST_CASE("the score board keeps the model apart from its ceilings") {
  ScoreBoard board;
  board.add({"Set a timer for five minutes.", "set a timer for 5 minutes",
             "set a timer for nine minutes", "set a timer for five minutes",
             "set a timer for five minute"});
  board.add(
      {"The kitchen light is on.", "the kitchen light is on", "", std::nullopt, std::nullopt});
  CHECK(board.scores(TextSource::kTextChannel).bleu.score == doctest::Approx(100));
  CHECK(board.scores(TextSource::kTextChannel).exact_rate() == 1);
  const TextScores model = board.scores(TextSource::kModelAudio);
  CHECK(model.num_examples == 2);
  CHECK(model.num_empty == 1);
  CHECK(model.words.rate() == doctest::Approx(6.0 / 11));
  CHECK(board.scores(TextSource::kReferenceAudio).num_examples == 1);
  CHECK(board.scores(TextSource::kRoundTripAudio).words.substitutions == 1);
  CHECK(board.agreement().words.errors() == 6);
}

TEST_CASE("an unknown piece in an answer is a wrong word") {
  const std::string unknown = " \xE2\x81\x87 ";  // as SentencePiece decodes it
  ScoreBoard board;
  board.add({"turn the light on", "turn the light on" + unknown, std::nullopt, std::nullopt,
             std::nullopt});
  board.add({"turn it off", "turn" + unknown + "off", std::nullopt, std::nullopt, std::nullopt});
  const TextScores scores = board.scores(TextSource::kTextChannel);
  CHECK(scores.words.insertions == 1);
  CHECK(scores.words.substitutions == 1);
  CHECK(scores.exact_rate() == 0);
}

TEST_CASE("the score board's JSON leaves out what was not measured") {
  ScoreBoard board;
  CHECK(nlohmann::json(board.to_json()).empty());
  board.add({"", "surplus", std::nullopt, std::nullopt, std::nullopt});
  const auto json = nlohmann::json(board.to_json());
  CHECK(json.contains("txt_bleu"));
  CHECK_FALSE(json.contains("asr_bleu"));
  CHECK(json["text_channel"]["wer"].is_null());
}

}  // namespace
}  // namespace s2s
