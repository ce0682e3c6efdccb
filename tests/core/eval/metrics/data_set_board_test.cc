#include "eval/metrics/data_set_board.h"

#include <doctest/doctest.h>

#include "core/eval/text/text_vectors.h"

namespace s2s {
namespace {

ReportExample example_of(const nlohmann::json& row) {
  ReportExample example;
  example.texts.reference = row["target"];
  example.texts.text_channel = row["text"].get<std::string>();
  example.texts.user_reference = row["src"];
  example.texts.user_channel = row["src_text"].get<std::string>();
  return example;
}

TEST_CASE("scores of text answers and of the user's words equal those of NeMo's metric classes") {
  const nlohmann::json data = test::reference_json("nemo_stt_metrics.json");
  int64_t num_compared = 0;
  double src_wer = 0;
  for (const auto& [set, rows] : data["sets"].items()) {
    CAPTURE(set);
    DataSetBoard board(set);
    for (const auto& row : rows) board.add(example_of(row), {});
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

TEST_CASE("a model that does not write the user's words has no score of them") {
  DataSetBoard board("dev");
  ReportExample example;
  example.texts.reference = "yes";
  example.texts.text_channel = "yes";
  board.add(example, {});
  CHECK(board.numbers().contains("txt_bleu"));
  CHECK_FALSE(board.numbers().contains("src_wer"));
  CHECK_FALSE(board.numbers().contains("acc"));
}

}  // namespace
}  // namespace s2s
