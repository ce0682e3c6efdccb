// NeMo's duplex recipe with its own kinds of files: transformers' folder, three archives, Shar.
// Reference: tests/reference/nemo_recipe.py, NeMo 3.0.0 with Lightning's trainer.

#include <doctest/doctest.h>

#include <fstream>

#include "cli/command.h"
#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;

namespace {

namespace fs = std::filesystem;

nlohmann::ordered_json expected(const fs::path& recipe) {
  return nlohmann::ordered_json::parse(std::ifstream(recipe / "expected.json"));
}

/// Runs s2s-run in the recipe's folder, as its relative paths want it.
CommandResult run_in(const fs::path& recipe, const std::string& arguments) {
  return run_shell("cd " + recipe.string() + " && " + binary_dir() + "/bin/s2s-run " + arguments);
}

/// What NeMo's file leaves to chance, and NeMo's loss, which counts the padding of a batch.
const char* const kAsNemo = " model.init_from_checkpoint=heads.ckpt model.mask_padding=false";

}  // namespace

TEST_CASE("NeMo's duplex recipe: two steps and the validation give NeMo's numbers") {
  const TemporaryFolder folder;
  const fs::path recipe = folder.path() / "recipe";
  fs::copy(source_dir() + "/tests/reference/data/nemo_recipe", recipe, fs::copy_options::recursive);
  const auto wanted = expected(recipe);

  const CommandResult check = run_in(recipe, "config check s2s_duplex.yaml");
  CHECK_MESSAGE(check.exit_code == 0, check.output);
  CHECK_MESSAGE(!has(check, "error:"), check.output);

  const CommandResult train = run_in(recipe, std::string("train s2s_duplex.yaml") + kAsNemo);
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  const auto lines = metrics(recipe / "s2s_results");
  REQUIRE(lines.size() == 3);
  for (size_t step = 0; step < 2; ++step) {
    CAPTURE(step);
    for (const char* key : {"loss", "text_loss", "audio_loss", "learning_rate", "batch_size"}) {
      CAPTURE(key);
      CHECK(lines[step].at(key).get<double>() ==
            doctest::Approx(wanted["steps"][step][key].get<double>()).epsilon(2e-5));
    }
  }
  const auto& scores = wanted["validation"];
  CHECK(scores["val_asr_bleu"].get<double>() > 50);
  CHECK(lines[2]["asr_bleu"].get<double>() ==
        doctest::Approx(scores["val_asr_bleu"].get<double>()).epsilon(1e-5));
  CHECK(lines[2]["txt_bleu"].get<double>() ==
        doctest::Approx(scores["val_txt_bleu"].get<double>()).epsilon(1e-5));
}

TEST_CASE("NeMo's duplex recipe: the report has the texts that NeMo's model and scorer wrote") {
  const TemporaryFolder folder;
  const fs::path recipe = folder.path() / "recipe";
  fs::copy(source_dir() + "/tests/reference/data/nemo_recipe", recipe, fs::copy_options::recursive);
  const CommandResult train =
      run_in(recipe, std::string("train s2s_duplex.yaml '~data.validation_ds'") + kAsNemo);
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  const CommandResult report =
      run_in(recipe, "validate s2s_duplex.yaml --checkpoint s2s_results --report report");
  REQUIRE_MESSAGE(report.exit_code == 0, report.output);
  const auto texts = expected(recipe)["texts"];
  std::ifstream predictions(recipe / "report/predictions.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(predictions, line); ++count) {
    const auto answer = nlohmann::ordered_json::parse(line);
    CAPTURE(line);
    REQUIRE(count < texts["agent"].size());
    CHECK(answer["reference"] == texts["reference"][count]);
    CHECK(answer["text_channel"] == texts["agent"][count]);
    CHECK(answer["heard_model"] == texts["asr"][count]);
  }
  CHECK(count == texts["agent"].size());
}

TEST_CASE("NeMo's duplex recipe: the scorer's words have times, of which metrics are made") {
  const TemporaryFolder folder;
  const fs::path recipe = folder.path() / "recipe";
  fs::copy(source_dir() + "/tests/reference/data/nemo_recipe", recipe, fs::copy_options::recursive);
  const CommandResult train = run_in(
      recipe, std::string("train s2s_duplex.yaml 'model.metrics=[{name: full_duplex_bench, ") +
                  "tasks: [smooth_turn_taking], smooth_turn_taking: [val_set_0]}, " +
                  "{name: voicebench, user_turns: data}]'" + kAsNemo);
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  const auto line = metrics(recipe / "s2s_results").back();
  CHECK(line["fdb_turn_tor"] == 1);
  CHECK(line["fdb_turn_latency_s"].get<double>() < 0.5);
  CHECK(line["voicebench_missed_responses"].is_number());
  CHECK_FALSE(line.contains("speaker_similarity"));  // it has a required option
}
