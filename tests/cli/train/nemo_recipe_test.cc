// NeMo's duplex recipe with its own kinds of files: transformers' folder, three archives, Shar.
// Reference: tests/reference/nemo_recipe.py, NeMo 3.0.0 with Lightning's trainer.

#include <doctest/doctest.h>

#include <fstream>

#include "cli/command.h"
#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;

namespace {

namespace fs = std::filesystem;

nlohmann::ordered_json expected(const fs::path& recipe) {
  return nlohmann::ordered_json::parse(std::ifstream(recipe / "expected.json"));
}

/// Runs s2s-run in the recipe's folder, as its relative paths want it.
CommandResult run_recipe(const fs::path& recipe, const std::string& arguments) {
  return run_shell("cd " + recipe.string() + " && " + binary_dir() + "/bin/s2s-run " + arguments);
}

/// What NeMo's file leaves to chance, and NeMo's loss, which counts the padding of a batch.
const char* const kAsNemo = " model.init_from_checkpoint=heads.ckpt model.mask_padding=false";

/// A copy of the recipe.
fs::path copied_recipe(const TemporaryFolder& folder) {
  const fs::path recipe = folder.path() / "recipe";
  fs::copy(source_dir() + "/tests/reference/data/nemo_recipe", recipe, fs::copy_options::recursive);
  return recipe;
}

using Lines = std::vector<nlohmann::ordered_json>;

/// The lines of a run in the recipe's folder. Requires that it succeeds.
Lines lines_of(const fs::path& recipe, const std::string& command) {
  fs::remove_all(recipe / "s2s_results");
  const CommandResult train = run_recipe(recipe, command + kAsNemo);
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  Lines lines = metrics(recipe / "s2s_results");
  REQUIRE(lines.size() == 3);
  return lines;
}

double number(const nlohmann::ordered_json& line, const char* key) {
  return line.at(key).get<double>();
}

/// Two steps and a validation as NeMo's.
void check_numbers_of_nemo(const Lines& lines, const nlohmann::ordered_json& wanted) {
  for (size_t step = 0; step < 2; ++step) {
    CAPTURE(step);
    for (const char* key : {"loss", "text_loss", "audio_loss", "learning_rate", "batch_size"}) {
      CAPTURE(key);
      CHECK(number(lines[step], key) ==
            doctest::Approx(number(wanted["steps"][step], key)).epsilon(2e-5));
    }
  }
  const auto& scores = wanted["validation"];
  CHECK(number(scores, "val_asr_bleu") > 50);
  for (const char* key : {"asr_bleu", "txt_bleu"}) {
    CHECK(number(lines[2], key) ==
          doctest::Approx(number(scores, ("val_" + std::string(key)).c_str())).epsilon(1e-5));
  }
}

/// NeMo's class with its keys, as a word of a command line.
std::string split_by_nemo(int data, int tensor) {
  return " trainer.devices=2 'trainer.strategy={_target_: nemo.core.ModelParallelStrategy, "
         "find_unused_parameters: false, data_parallel: " +
         std::to_string(data) + ", tensor_parallel: " + std::to_string(tensor) + "}'";
}

}  // namespace

TEST_CASE("NeMo's duplex recipe: two steps and the validation give NeMo's numbers") {
  const TemporaryFolder folder;
  const fs::path recipe = copied_recipe(folder);
  const auto wanted = expected(recipe);

  const CommandResult check = run_recipe(recipe, "config check s2s_duplex.yaml");
  CHECK_MESSAGE(check.exit_code == 0, check.output);
  CHECK_MESSAGE(!has(check, "error:"), check.output);

  check_numbers_of_nemo(lines_of(recipe, "train s2s_duplex.yaml"), wanted);
}

TEST_CASE("NeMo's duplex recipe: two ranks that split each layer give NeMo's numbers") {
  const TemporaryFolder folder;
  const fs::path recipe = copied_recipe(folder);
  const Lines lines =
      lines_of(recipe, "launch local -n 2 -- train s2s_duplex.yaml" + split_by_nemo(1, 2));
  check_numbers_of_nemo(lines, expected(recipe));
}

TEST_CASE("NeMo's duplex recipe: two data ranks train as one process with twice the batches") {
  const TemporaryFolder folder;
  const fs::path recipe = copied_recipe(folder);
  // With buckets, both ranks would read the same bucket; each answers one cut of the validation.
  const std::string train =
      "train s2s_duplex.yaml '~data.train_ds.use_bucketing' '~data.train_ds.num_buckets' "
      "'~data.train_ds.bucket_duration_bins' '~data.train_ds.bucket_buffer_size' "
      "data.validation_ds.batch_size=1";
  const Lines one = lines_of(recipe, train + " trainer.accumulate_grad_batches=2");
  const std::string on_two = "launch local -n 2 -- " + train;
  for (const std::string& layout : {std::string(" trainer.devices=2"), split_by_nemo(2, 1)}) {
    CAPTURE(layout);
    const Lines two = lines_of(recipe, on_two + layout);
    for (size_t step = 0; step < 2; ++step) {
      CAPTURE(step);
      for (const char* key : {"loss", "text_loss", "audio_loss", "grad_norm", "batch_size"}) {
        CAPTURE(key);
        CHECK(number(two[step], key) == doctest::Approx(number(one[step], key)).epsilon(1e-5));
      }
    }
    // The statistics of a batch norm are means over the ranks, so answers are compared with those
    // of one process with the same checkpoint.
    const CommandResult again =
        run_recipe(recipe,
                   "validate s2s_duplex.yaml --checkpoint s2s_results --report report --json "
                   "--force data.validation_ds.batch_size=1" +
                       std::string(kAsNemo));
    REQUIRE_MESSAGE(again.exit_code == 0, again.output);
    const std::string json = again.output.substr(again.output.find("\n{"));
    const auto set = nlohmann::ordered_json::parse(json)["sets"]["val_set_0"];
    for (const char* key : {"text_loss", "audio_loss", "asr_bleu", "asr_wer"}) {
      CAPTURE(key);
      CHECK(number(two[2], key) == doctest::Approx(number(set, key)).epsilon(1e-5));
    }
  }
}

TEST_CASE("NeMo's duplex recipe: the report has the texts that NeMo's model and scorer wrote") {
  const TemporaryFolder folder;
  const fs::path recipe = copied_recipe(folder);
  const CommandResult train =
      run_recipe(recipe, std::string("train s2s_duplex.yaml '~data.validation_ds'") + kAsNemo);
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  const CommandResult report =
      run_recipe(recipe, "validate s2s_duplex.yaml --checkpoint s2s_results --report report");
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
  const fs::path recipe = copied_recipe(folder);
  const CommandResult train = run_recipe(
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

TEST_CASE("NeMo's duplex recipe: files that are missing or of another kind are named, each once") {
  const TemporaryFolder folder;
  const fs::path recipe = copied_recipe(folder);
  const auto check = [&](const std::string& overrides) {
    return run_recipe(recipe, "config check s2s_duplex.yaml" + overrides);
  };
  const CommandResult missing =
      check(" model.scoring_asr=other.nemo model.pretrained_audio_codec=other.nemo");
  CHECK(missing.exit_code == 3);
  for (const char* said :
       {"error: [model/translate] model.scoring_asr (command line", "a .nemo file on this machine",
        "error: [config/unknown-key] unknown key 'pretrained_audio_codec'",
        "this is no .nemo file on this machine"}) {
    CHECK_MESSAGE(has(missing, said), missing.output);
  }
  CHECK(count_of(missing.output, "error:") == 2);
  const CommandResult wrong = check(" model.pretrained_asr=codec.nemo");
  CHECK(wrong.exit_code == 3);
  CHECK_MESSAGE(has(wrong, "error: [model/translate] model.pretrained_asr ("), wrong.output);
  CHECK_MESSAGE(has(wrong, "= 'codec.nemo' is not supported"), wrong.output);
  CHECK(count_of(wrong.output, "error:") == 1);
}
