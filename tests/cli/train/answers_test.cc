// What the model answers at the validations of a training run, and checkpoints that are chosen by
// it.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

const Words kListening = {"trainer.max_steps=4", "trainer.val_check_interval=2",
                          "trainer.limit_val_batches=3", "model.lr_scheduler.warmup_steps=0",
                          "model.scoring_asr={name: pocketsphinx}"};

std::vector<ordered_json> lines_of(const fs::path& run, bool are_validations) {
  std::vector<ordered_json> lines;
  for (const ordered_json& line : metrics(run)) {
    if (line.contains("validation") == are_validations) lines.push_back(line);
  }
  return lines;
}

/// The same numbers from `validate`, of the first `batches` of the set.
json validated(const fs::path& run, const std::string& batches) {
  const Outcome outcome =
      run_s2s({"validate", "--checkpoint", (run / "checkpoints/last").string(), "--limit-batches",
               batches, "--json", "--report", (run / "report-of-test").string(), "--force"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const size_t begin = outcome.output.find("\n{");
  return json::parse(outcome.output.substr(begin == std::string::npos ? 0 : begin)).at("sets");
}

void check_same_numbers(const ordered_json& line, const json& set) {
  for (const char* const name : {"txt_bleu", "txt_wer", "asr_bleu", "asr_wer", "takeover_rate",
                                 "agent_speech_ratio", "text_loss"}) {
    REQUIRE_MESSAGE(line.contains(name), line.dump());
    CHECK_MESSAGE(line.at(name).get<double>() == doctest::Approx(set.at(name).get<double>()), name);
  }
  CHECK_FALSE(line.contains("asr_bleu_reference"));
}

}  // namespace

TEST_CASE("validations while training have validate's BLEU and turn taking, and change no step") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", silent = folder.path() / "silent";
  const std::string output = train_tiny(
      run, with(kListening, {"exp_manager.checkpoint_callback_params.monitor=val_asr_bleu",
                             "exp_manager.checkpoint_callback_params.mode=max"}));
  CHECK_FALSE(contains(output, "never measured"));
  CHECK_MESSAGE(contains(output, "asr_bleu "), output);
  train_tiny(silent, with(kListening, {"trainer.limit_val_generate_batches=0"}));
  CHECK_FALSE(lines_of(silent, true).at(0).contains("txt_bleu"));
  const std::vector<ordered_json> listening = lines_of(run, false), plain = lines_of(silent, false);
  REQUIRE(listening.size() == 4);
  REQUIRE(plain.size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(listening[i]["loss"] == plain[i]["loss"]);
  const std::vector<ordered_json> validations = lines_of(run, true);
  REQUIRE(validations.size() == 2);
  check_same_numbers(validations.back(), validated(run, "3").at("dev"));
}

TEST_CASE("two ranks and one process measure the same answers; a limit of them holds") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Words words = tiny_words(
      "train", run,
      with(kListening, {"trainer.limit_val_generate_batches=3", "trainer.strategy={name: fsdp}",
                        "trainer.limit_val_batches=4"}));
  Words launch = {"launch", "local", "-n", "2", "--"};
  const Outcome outcome = run_s2s(with(launch, words));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  ordered_json line = lines_of(run, true).back();
  json set = validated(run, "3").at("dev");
  line["text_loss"] = set["text_loss"];  // of four batches
  check_same_numbers(line, set);
}

TEST_CASE("a monitor is looked at before the first step, by config check and by train") {
  const TemporaryFolder folder;
  const std::string monitor = "exp_manager.checkpoint_callback_params.monitor=";
  for (const auto& [words, said] :
       {std::pair<Words, std::string>{{monitor + "val_asr_bleu"},
                                      "set model.scoring_asr.name (s2s-run"},
        {{monitor + "val_txt_bleu"}, "mode min keeps the worst; write mode: max"},
        {{monitor + "val_speed"}, "write one of val_text_loss, "}}) {
    Words check = tiny_words("check", folder.path() / "run", words);
    check.insert(check.begin(), "config");
    const Outcome outcome = run_s2s(check);
    CHECK(outcome.exit_code == 0);
    CHECK_MESSAGE(contains(outcome.output, said), outcome.output);
  }
  const std::string output = train_tiny(
      folder.path() / "run", {"trainer.max_steps=2", "trainer.val_check_interval=1",
                              "model.lr_scheduler.warmup_steps=0", monitor + "val_speed"});
  const size_t warned = output.find("'val_speed' is never measured");
  REQUIRE_MESSAGE(warned != std::string::npos, output);
  CHECK(output.find("val_speed", warned + 20) == std::string::npos);  // once
  CHECK(warned < output.find("validation of dev"));
}
