// s2s-run score: files of texts alone.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/contains.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

/// Ten answers; `wrong` of them have one other word of four.
std::string answers(int wrong, const std::string& key, bool is_reversed = false) {
  std::vector<std::string> lines;
  for (int i = 0; i < 10; ++i) {
    const std::string said = i < wrong ? "the red door is" : "the blue door is";
    lines.push_back(json{{"id", "a" + std::to_string(i)},
                         {key, said + " open."},
                         {"text", "The blue door is open!"}}
                        .dump() +
                    "\n");
  }
  if (is_reversed) std::reverse(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

}  // namespace

TEST_CASE("score finds texts and references, and says how sure the scores are") {
  const TemporaryFolder dir;
  dir.write("nemo.jsonl", answers(2, "pred_text"));
  const CommandResult run = run_cli("score " + (dir / "nemo.jsonl") + " --json");
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  const json system = json::parse(run.output)["systems"][0];
  CHECK(system["hypothesis"] == "pred_text");
  CHECK(system["reference"] == "text");
  CHECK(system["examples"] == 10);
  const json wer = system["scores"]["wer"];
  CHECK(wer["value"].get<double>() == doctest::Approx(2.0 / 50));
  CHECK(wer["substitutions"] == 2);
  CHECK(wer["reference_length"] == 50);
  CHECK(wer["low"].get<double>() == 0);
  // Of ten examples a sample has at most 5 of those two in 95 of 100 cases.
  CHECK(wer["high"].get<double>() == doctest::Approx(0.1));
  CHECK(system["scores"]["exact"]["value"].get<double>() == doctest::Approx(0.8));
  // sacrebleu.corpus_bleu of the normalized texts.
  CHECK(system["scores"]["bleu"]["value"].get<double>() == doctest::Approx(87.975).epsilon(1e-4));
  const CommandResult text = run_cli("score " + (dir / "nemo.jsonl"));
  CHECK(contains(text.output, "10 examples, pred_text against text"));
  CHECK(contains(text.output, "4.00 %"));
  const CommandResult exact =
      run_cli("score " + (dir / "nemo.jsonl") + " --normalizer none --json --samples 0");
  const json raw = json::parse(exact.output)["systems"][0]["scores"]["wer"];
  CHECK(raw["value"].get<double>() > 0.3);
  CHECK_FALSE(raw.contains("low"));
}

TEST_CASE("score compares systems example by example, in any order of lines") {
  const TemporaryFolder dir;
  dir.write("a.jsonl", answers(9, "hypothesis"));
  dir.write("b.jsonl", answers(1, "hypothesis", /*is_reversed=*/true));
  dir.write("c.jsonl", answers(9, "hypothesis"));
  const CommandResult run = run_cli("score " + (dir / "a.jsonl") + " " + (dir / "b.jsonl") + " " +
                                    (dir / "c.jsonl") + " --json");
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  const json comparisons = json::parse(run.output)["comparisons"];
  REQUIRE(comparisons.size() == 2);
  const json better = comparisons[0]["scores"]["wer"];
  CHECK(better["difference"].get<double>() == doctest::Approx(-0.16));
  CHECK(better["p_value"].get<double>() < 0.05);
  const json same = comparisons[1]["scores"]["wer"];
  CHECK(same["difference"].get<double>() == 0);
  CHECK(same["p_value"].get<double>() == 1);
  const CommandResult again = run_cli("score " + (dir / "a.jsonl") + " " + (dir / "b.jsonl") + " " +
                                      (dir / "c.jsonl") + " --json");
  CHECK(again.output == run.output);
}

TEST_CASE("score says which line of which file does not fit") {
  const TemporaryFolder dir;
  dir.write("a.jsonl", answers(1, "pred_text"));
  dir.write("short.jsonl", "{\"id\": \"a0\", \"pred_text\": \"x\", \"text\": \"y\"}\n");
  dir.write("broken.jsonl", answers(1, "pred_text") + "{\"id\": \n");
  dir.write("other.jsonl", answers(1, "said"));
  dir.write("empty.jsonl", "");
  const auto message_of = [&](const std::string& files) {
    const CommandResult run = run_cli("score " + files);
    CHECK(run.exit_code == 5);
    return run.output;
  };
  CHECK(contains(message_of(dir / "broken.jsonl"), "[score/json]"));
  CHECK(contains(message_of(dir / "broken.jsonl"), "broken.jsonl:11: not valid JSON"));
  CHECK(contains(message_of(dir / "other.jsonl"), "[score/no-text]"));
  CHECK(contains(message_of(dir / "other.jsonl"), "the line has: id, said, text"));
  CHECK(contains(message_of(dir / "empty.jsonl"), "[score/no-examples]"));
  CHECK(contains(message_of((dir / "a.jsonl") + " " + (dir / "short.jsonl")),
                 "[score/other-examples]"));
  CHECK(contains(message_of(dir / "none.jsonl"), "[score/no-file]"));
  CHECK(run_cli("score " + (dir / "other.jsonl") + " --hypothesis said").exit_code == 0);
}
