// Runs with the functions of NeMo's exp_manager: the moving average, versions, names, snapshots.

#include <doctest/doctest.h>

#include <regex>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kManager = "exp_manager.", kSaves = "exp_manager.checkpoint_callback_params.";

/// Six short steps with a moving average and two validations.
Words averaged(const Words& more = {}) {
  return with(
      {"trainer.max_steps=6", "model.lr_scheduler.max_steps=6", "trainer.val_check_interval=3",
       kManager + "ema.enable=true", kManager + "ema.decay=0.5", kSaves + "every_n_train_steps=3"},
      more);
}

std::vector<std::string> sorted_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

double last_validation(const fs::path& run) {
  double loss = 0;
  for (const auto& line : metrics(run)) {
    if (line.contains("validation")) loss = line.at("text_loss");
  }
  return loss;
}

/// text_loss of `validate` of the newest checkpoint.
double validated_again(const fs::path& run, const Words& more) {
  const Outcome outcome = run_s2s(
      tiny_words("validate", run,
                 with({"--checkpoint", run.string(), "--limit-batches", "1", "--json"}, more)));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::string text = outcome.output.substr(outcome.output.find("{\n"));
  return nlohmann::json::parse(text).at("sets").at("dev").at("text_loss");
}

}  // namespace

TEST_CASE("a moving average is validated, saved, and goes on after a resume bit for bit") {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", cut = folder.path() / "cut";
  train_tiny(whole, averaged());
  train_tiny(cut, averaged({"trainer.max_steps=3"}));
  train_tiny(cut, averaged());
  check_same_run(cut, whole);
  const double average = validated_again(whole, {"--ema"}), weights = validated_again(whole, {});
  CHECK(average == doctest::Approx(last_validation(whole)).epsilon(1e-6));
  CHECK(std::abs(average - weights) > 1e-3);
  // Without the average in validations, training is the same and validations are of the weights.
  const fs::path original = folder.path() / "original";
  train_tiny(original, averaged({kManager + "ema.validate_original_weights=true"}));
  CHECK(weights == doctest::Approx(last_validation(original)).epsilon(1e-6));
  CHECK(read_text(original / "checkpoints/last/optimizer.safetensors") ==
        read_text(whole / "checkpoints/last/optimizer.safetensors"));
  // The run goes on without it, and a checkpoint without one says so.
  const std::string output =
      train_tiny(cut, averaged({"trainer.max_steps=7", kManager + "ema.enable=false"}));
  CHECK(contains(output, "the moving average of the weights in"));
  const Outcome none = run_s2s(
      tiny_words("validate", cut, {"--checkpoint", cut.string(), "--limit-batches", "1", "--ema"}));
  CHECK(none.exit_code == 3);
  CHECK_MESSAGE(contains(none.output, "[checkpoint/no-ema]"), none.output);
}

TEST_CASE("a sanity check validates before the first step and changes nothing") {
  const TemporaryFolder folder;
  const fs::path plain = folder.path() / "plain", checked = folder.path() / "checked";
  const Words words = {"trainer.max_steps=4", "model.encoder.encoder.dropout=0.1"};
  train_tiny(plain, words);
  const std::string output = train_tiny(checked, with(words, {"trainer.num_sanity_val_steps=1"}));
  CHECK(contains(output, "sanity check: validation works"));
  CHECK(lasting_metrics(plain) == lasting_metrics(checked));
  const std::string again =
      train_tiny(checked, with(words, {"trainer.num_sanity_val_steps=1", "trainer.max_steps=5"}));
  CHECK(!contains(again, "sanity check"));  // a resumed run has been checked
}

TEST_CASE("checkpoints get the names that a pattern gives, and the best one a link") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, {"trainer.max_steps=6", "trainer.val_check_interval=0.5",
                   "trainer.limit_train_batches=4", kSaves + "every_n_train_steps=2",
                   kSaves + "save_top_k=2", kSaves + "monitor=val_text_loss",
                   kSaves + "filename='run--{val_text_loss:.2f}-{epoch}-{step:03d}'"});
  const std::vector<std::string> names = sorted_names(run / "checkpoints");
  REQUIRE(names.size() == 6);
  CHECK(names[0] == "best");
  CHECK(names[1] == "last");
  CHECK(
      std::regex_match(names[2], std::regex("run--val_text_loss=[0-9.]+-epoch=[01]-step=00[46]")));
  CHECK(fs::exists(run / "checkpoints" / names[2] / "model.safetensors"));
  CHECK(names[4] == "step=4");
  CHECK(names[5] == "step=6");
}

TEST_CASE("a run that does not resume gets a folder of its own, dated or numbered") {
  const TemporaryFolder folder;
  const Words words = {"~exp_manager.explicit_log_dir",
                       kManager + "exp_dir=" + folder.path().string(), kManager + "name=exp",
                       kManager + "resume_if_exists=false", "trainer.max_steps=3"};
  const fs::path runs = folder.path() / "exp";
  train_tiny("unused", words);
  REQUIRE(sorted_names(runs).size() == 1);
  CHECK(std::regex_match(sorted_names(runs)[0],
                         std::regex("\\d{4}-\\d\\d-\\d\\d_\\d\\d-\\d\\d-\\d\\d")));
  CHECK(num_steps_logged(runs / sorted_names(runs)[0]) == 3);
  for (int i = 0; i < 2; ++i)
    train_tiny("unused", with(words, {kManager + "use_datetime_version=false"}));
  CHECK(num_steps_logged(runs / "version_0") == 3);
  CHECK(num_steps_logged(runs / "version_1") == 3);
  train_tiny("unused", with(words, {kManager + "version=mine"}));
  CHECK(num_steps_logged(runs / "mine") == 3);
}

TEST_CASE("a run that must resume and has nothing to resume from is an error") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Outcome outcome =
      run_s2s(tiny_words("train", run, {kManager + "resume_ignore_no_checkpoint=false"}));
  CHECK(outcome.exit_code == 3);
  CHECK_MESSAGE(contains(outcome.output, "[run/no-checkpoint]"), outcome.output);
  train_tiny(run, {"trainer.max_steps=3"});
  train_tiny(run, {"trainer.max_steps=4", kManager + "resume_ignore_no_checkpoint=false"});
  CHECK(num_steps_logged(run) == 4);
}

TEST_CASE("a run ends early when its metric no longer improves, and stays ended") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Words words = {"trainer.max_steps=60",
                       "trainer.val_check_interval=2",
                       kManager + "create_early_stopping_callback=true",
                       kManager + "early_stopping_callback_params.monitor=val_text_loss",
                       kManager + "early_stopping_callback_params.min_delta=100",
                       kManager + "early_stopping_callback_params.patience=2"};
  CHECK(contains(train_tiny(run, words), "early stopping: val_text_loss has not improved in 2"));
  CHECK(num_steps_logged(run) == 6);
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=6");
  CHECK(contains(train_tiny(run, words), "early stopping: "));
  CHECK(num_steps_logged(run) == 6);
}

TEST_CASE("a snapshot has the environment without secrets, the libraries, and files to copy") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  write_text(folder.path() / "notes.md", "why\n");
  setenv("WANDB_API_KEY", "hush-hush-1", 1);
  setenv("RAY_ADDRESS", "http://me:word@host/", 1);
  setenv("NCCL_DEBUG", "VERSION", 1);
  train_tiny(run, {"trainer.max_steps=3",
                   kManager + "files_to_copy=[" + (folder.path() / "notes.md").string() + "]"});
  for (const char* name : {"WANDB_API_KEY", "RAY_ADDRESS", "NCCL_DEBUG"}) unsetenv(name);
  const auto environment = nlohmann::json::parse(read_text(run / "snapshot/environment.json"));
  CHECK(environment.at("NCCL_DEBUG") == "VERSION");
  CHECK(environment.at("RAY_ADDRESS") == "***");
  CHECK(!environment.contains("WANDB_API_KEY"));
  const std::string packages = read_text(run / "snapshot/packages.json");
  CHECK(contains(packages, "libtorch_cpu.so"));
  CHECK(contains(packages, "\"build_id\": \""));
  CHECK(read_text(run / "snapshot/files/notes.md") == "why\n");
}
