#include <doctest/doctest.h>

#include "core/eval/text/text_vectors.h"
#include "eval/metrics/data_set_board.h"
#include "plugins/built_metrics.h"

namespace s2s {
namespace {

DataSetBoard board_of(const std::string& set = "dev") { return {set, test::built_metrics()}; }

void add(DataSetBoard& board, const SpokenTexts& texts) {
  ReportExample example;
  example.data_set = board.name();
  example.texts = texts;
  board.add(example, {});
}

SpokenTexts texts_of(const nlohmann::json& row) {
  SpokenTexts texts;
  texts.reference = row["target"];
  texts.text_channel = row["text"].get<std::string>();
  texts.user_reference = row["src"];
  texts.user_channel = row["src_text"].get<std::string>();
  return texts;
}

TEST_CASE("scores of text answers and of the user's words equal those of NeMo's metric classes") {
  const nlohmann::json data = test::reference_json("nemo_stt_metrics.json");
  int64_t num_compared = 0;
  double src_wer = 0;
  for (const auto& [set, rows] : data["sets"].items()) {
    CAPTURE(set);
    DataSetBoard board = board_of(set);
    for (const auto& row : rows) add(board, texts_of(row));
    const auto numbers = board.numbers();
    for (const std::string name : {"txt_bleu", "src_txt_bleu", "src_wer"}) {
      CAPTURE(name);
      const double expected = data["metrics"][name + "_" + set];
      CHECK(numbers.at(name) == doctest::Approx(expected).epsilon(1e-6));
      ++num_compared;
    }
    src_wer += numbers.at("src_wer") / static_cast<double>(data["sets"].size());
    const auto accuracy = data["metrics"].find(set + "_acc");
    CHECK(numbers.contains("acc") == (accuracy != data["metrics"].end()));
    if (accuracy == data["metrics"].end()) continue;
    CHECK(numbers.at("acc") == doctest::Approx(accuracy->get<double>()).epsilon(1e-6));
    ++num_compared;
  }
  CHECK(num_compared == 3 * 5 + 3);
  CHECK(src_wer == doctest::Approx(data["metrics"]["src_wer"].get<double>()).epsilon(1e-6));
}

TEST_CASE("metrics that lie next to the program and need no option are computed, in order") {
  SearchInputs inputs;
  inputs.command_line = {test::binary_dir() + "/lib/s2s/plugins"};
  const PluginScan scan = scan_plugins(resolve_search_path(inputs));
  std::vector<std::string> expected;
  for (const NamedMetric& metric : test::built_metrics()) expected.push_back(metric.name);
  std::vector<std::string> own = own_names(scan, "metric");
  // Three need an option, and so are computed where they are listed.
  CHECK(std::erase(own, "speaker_similarity") == 1);
  CHECK(std::erase(own, "full_duplex_bench") == 1);
  CHECK(std::erase(own, "voicebench") == 1);
  CHECK(own == expected);
  inputs.command_line = {test::binary_dir() + "/tests/fixtures/plugins/good"};
  const PluginScan of_others = scan_plugins(resolve_search_path(inputs));
  CHECK(of_others.files.front().provides.front().kind == "metric");
  for (const std::string& name : own_names(of_others, "metric")) CHECK(name != "fixture_good");
}

TEST_CASE("a model that does not write the user's words has no score of them") {
  DataSetBoard board = board_of();
  add(board, {"yes", "yes", {}, {}, {}, "no", {}});
  CHECK(board.numbers().contains("txt_bleu"));
  CHECK_FALSE(board.numbers().contains("src_wer"));
  CHECK_FALSE(board.numbers().contains("acc"));
  CHECK_FALSE(board.to_json().contains("named_answers"));
}

TEST_CASE("the board keeps the model apart from its ceilings") {
  DataSetBoard board = board_of();
  add(board,
      {"Set a timer for five minutes.", "set a timer for 5 minutes", "set a timer for nine minutes",
       "set a timer for five minutes", "set a timer for five minute"});
  add(board,
      {"The kitchen light is on.", "the kitchen light is on", "", std::nullopt, std::nullopt});
  const auto numbers = board.numbers();
  CHECK(numbers.at("txt_bleu") == doctest::Approx(100));
  CHECK(numbers.at("txt_exact") == 1);
  CHECK(numbers.at("asr_wer") == doctest::Approx(6.0 / 11));
  const nlohmann::json texts = board.to_json()["texts"];
  CHECK(texts["txt_bleu"] == numbers.at("txt_bleu"));
  CHECK(texts["model"]["examples"] == 2);
  CHECK(texts["model"]["empty"] == 1);
  CHECK(texts["reference"]["examples"] == 1);
  CHECK(texts["round_trip"]["substitutions"] == 1);
  CHECK(texts["text_audio_agreement"]["wer"] == doctest::Approx(6.0 / 11));
  CHECK(texts["text_audio_agreement"]["reference_words"] == 11);
}

TEST_CASE("an unknown piece in an answer is a wrong word") {
  const std::string unknown = " \xE2\x81\x87 ";  // as SentencePiece decodes it
  DataSetBoard board = board_of();
  add(board, {"turn the light on", "turn the light on" + unknown, {}, {}, {}});
  add(board, {"turn it off", "turn" + unknown + "off", {}, {}, {}});
  const nlohmann::json scores = board.to_json()["texts"]["text_channel"];
  CHECK(scores["insertions"] == 1);
  CHECK(scores["substitutions"] == 1);
  CHECK(scores["exact_rate"] == 0);
}

TEST_CASE("the JSON leaves out what was not measured, and an undefined rate is null") {
  DataSetBoard board = board_of();
  CHECK(nlohmann::json(board.to_json()["texts"]).empty());
  add(board, {"", "surplus", {}, {}, {}});
  const nlohmann::json texts = board.to_json()["texts"];
  CHECK(texts.contains("txt_bleu"));
  CHECK_FALSE(texts.contains("asr_bleu"));
  CHECK(texts["text_channel"]["wer"].is_null());
}

TEST_CASE("tables have the rows of texts, of the user's words and of turns, in this order") {
  DataSetBoard board = board_of();
  ReportExample example;
  example.texts = {"yes", "yes", "yes", {}, {}, "is it on", "is it off"};
  example.turns = {{false, 0, 1, "is it on"}, {true, 1.2, 2, "yes"}};
  board.add(example, {3, {{0, 1}}, {{{1.2, 2}}}, {}, {}});
  std::vector<std::string> labels;
  for (const ScoreTable::Row& row : board.table().rows) labels.push_back(row.label);
  const std::vector<std::string> expected = {"BLEU",
                                             "word errors",
                                             "character errors",
                                             "entirely right",
                                             "user's words, BLEU",
                                             "user's words, errors",
                                             "takes the turn",
                                             "latency, median",
                                             "latency, 90th percentile",
                                             "begins too early"};
  REQUIRE(labels.size() > expected.size());
  labels.resize(expected.size());
  CHECK(labels == expected);
  const auto& user = board.table().rows[5];
  CHECK(user.cells[1] == doctest::Approx(1.0 / 3));
  CHECK_FALSE(user.cells[0].has_value());
}

}  // namespace
}  // namespace s2s
