// The loggers of a training run: named as other software does, failing, resumed, on two ranks.

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// The first cells of the rows of metrics.csv.
std::vector<int> steps_of_csv(const fs::path& file) {
  std::istringstream lines(read_text(file));
  std::vector<int> steps;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) steps.push_back(std::stoi(line));
  return steps;
}

}  // namespace

TEST_CASE("NeMo's switches and report_to choose loggers; a resumed run repeats no row") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Words options = {"trainer.max_steps=4",
                         "trainer.val_check_interval=2",
                         "exp_manager.checkpoint_callback_params.every_n_train_steps=2",
                         "exp_manager.create_tensorboard_logger=true",
                         "exp_manager.summary_writer_kwargs={flush_secs: 1}",
                         "exp_manager.create_mlflow_logger=false",
                         "report_to=wandb",
                         "exp_manager.loggers={name: csv}"};
  train_tiny(run, options);
  const std::vector<int> steps = {1, 2, 2, 3, 4, 4};
  CHECK(steps_of_csv(run / "metrics.csv") == steps);
  CHECK(read_text(run / "metrics.csv").starts_with("step,"));
  CHECK(read_text(run / "hparams.yaml") == read_text(run / "config.yaml"));
  CHECK(fs::exists(run / "wandb"));
  CHECK_FALSE(fs::exists(folder.path() / "mlruns"));
  const std::string id = nlohmann::json::parse(read_text(run / "manifest.json"))["run_id"];
  copy_as_killed(run, folder.path() / "killed", 2);
  train_tiny(folder.path() / "killed", options);
  CHECK(steps_of_csv(folder.path() / "killed/metrics.csv") == steps);
  CHECK(nlohmann::json::parse(read_text(folder.path() / "killed/manifest.json"))["run_id"] == id);
  int num_files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "killed")) {
    num_files += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
  }
  CHECK(num_files == 2);
}

TEST_CASE("a logger that cannot write says so once, and training goes on") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  const std::string output =
      train_tiny(folder.path() / "run", {"trainer.max_steps=3", "~trainer.val_check_interval",
                                         "exp_manager.loggers=[{name: csv, save_dir: " + file +
                                             "/a}, {name: tensorboard, save_dir: " + file +
                                             "}, {name: wandb, save_dir: " + file +
                                             "}, {name: mlflow, save_dir: " + file + "/m}]"});
  CAPTURE(output);
  CHECK(num_steps_logged(folder.path() / "run") == 3);
  for (const char* const name : {"csv", "tensorboard", "wandb", "mlflow"}) {
    CHECK(count_of(output, std::string("logger ") + name + ": ") == 1);
  }
  CHECK(count_of(output, "it receives no further values from this run") == 4);
}

TEST_CASE("config check builds the loggers: what their options refuse is found before training") {
  const TemporaryFolder folder;
  Words words = tiny_words("check", folder.path() / "run",
                           {"exp_manager.create_mlflow_logger=true",
                            "exp_manager.mlflow_logger_kwargs={tracking_uri: \"http://a:1\"}"});
  words.insert(words.begin(), "config");
  const Outcome outcome = run_s2s(words);
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.output, "[logger/tracking-uri]"));
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("unknown arguments of a logger are one message, known ones without effect are notes") {
  const TemporaryFolder folder;
  const Outcome outcome = run_s2s(
      tiny_words("train", folder.path() / "run",
                 {"exp_manager.create_wandb_logger=true",
                  "exp_manager.wandb_logger_kwargs={name: a, resume: true, kolor: red, size: 1}",
                  "exp_manager.create_neptune_logger=true", "trainer.report_to=[comet_ml]"}));
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.output, "[config/loggers] 3 findings"));
  CHECK(contains(outcome.output, "unknown kolor, size; expected project, name, entity, "));
  CHECK(contains(outcome.output, "there is no logger for Neptune"));
  CHECK(contains(outcome.output, "comet_ml"));
}
