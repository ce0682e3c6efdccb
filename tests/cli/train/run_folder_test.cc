// What train, resumed train and validate leave in a run folder (core/docs/start/runs.md).

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// configs/tiny.yaml just as it is, in a folder of its own: data and run are made below it.
Outcome first_use(const fs::path& folder, const Words& more = {}) {
  Words words = {"train", s2s::test::source_dir() + "/configs/tiny.yaml",
                 "tiny.data=" + (folder / "data").string(),
                 "tiny.run=" + (folder / "run").string()};
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(words);
}

void check_step_line(const nlohmann::ordered_json& line) {
  for (const char* key :
       {"step", "loss", "text_loss", "audio_loss", "grad_norm", "learning_rate", "frames", "tokens",
        "step_time_s", "frames_per_s", "padding_ratio", "peak_memory_bytes"}) {
    CHECK_MESSAGE(line.contains(key), key);
  }
  CHECK(line["loss"].get<double>() == doctest::Approx(3 * line["text_loss"].get<double>() +
                                                      4 * line["audio_loss"].get<double>()));
  CHECK(line["frames"].get<int64_t>() > 0);
  CHECK(line["padding_ratio"].get<double>() >= 0);
  CHECK(line["padding_ratio"].get<double>() < 1);
}

}  // namespace

TEST_CASE("the tiny configuration makes its data, trains, and leaves a complete run folder") {
  const TemporaryFolder folder;
  const Outcome outcome = first_use(folder.path());
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const fs::path run = folder.path() / "run";
  std::vector<int> steps, validated;
  for (const auto& line : metrics(run)) {
    if (line.contains("validation")) {
      CHECK(line["validation"] == "dev");
      CHECK(line.contains("text_loss"));
      CHECK(line.contains("audio_accuracy"));
      validated.push_back(line["step"]);
    } else {
      check_step_line(line);
      steps.push_back(line["step"]);
    }
  }
  CHECK(steps == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(validated == std::vector<int>{5, 10});
  CHECK(metrics(run).front()["loss"] > metrics(run)[10]["loss"]);
  CHECK(read_text(run / "config.yaml").find("max_steps: 10") != std::string::npos);
  CHECK(read_text(run / "config.yaml").find("${") == std::string::npos);
  CHECK(read_text(run / "log.txt").find("step 10 ") != std::string::npos);
  for (const char* name : {"step=5", "step=10", "last"}) {
    const fs::path checkpoint = run / "checkpoints" / name;
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "random.safetensors",
                             "state.json", "config.yaml", "manifest.json"}) {
      CHECK_MESSAGE(fs::is_regular_file(checkpoint / file), name << "/" << file);
    }
  }
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=10");
}

TEST_CASE("with monitor the best checkpoint of the validations stays beside the newest") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  // The largest losses are the first ones, so that the best are not the newest.
  train_tiny(run, {"trainer.max_steps=12", "trainer.val_check_interval=2",
                   "exp_manager.checkpoint_callback_params.every_n_train_steps=2",
                   "exp_manager.checkpoint_callback_params.monitor=val_text_loss_dev",
                   "exp_manager.checkpoint_callback_params.mode=max",
                   "exp_manager.checkpoint_callback_params.save_top_k=2"});
  std::vector<std::pair<double, int>> values;
  for (const auto& line : metrics(run)) {
    if (line.contains("validation"))
      values.emplace_back(-line["text_loss"].get<double>(), line["step"]);
  }
  std::sort(values.begin(), values.end());
  REQUIRE(values.size() == 6);
  const std::set<int> expected = {values[0].second, values[1].second, 12};
  std::set<int> kept;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_symlink()) kept.insert(std::stoi(name.substr(5)));
  }
  CHECK(kept == expected);
  CHECK(kept.size() == 3);
  const json state = json::parse(read_text(run / "checkpoints/step=12/state.json"));
  CHECK(state["monitored"].get<double>() > 0);
}

TEST_CASE("a run that says nothing of checkpoints has one after each validation") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string unsaid = "~exp_manager.checkpoint_callback_params.every_n_train_steps";
  const std::string output =
      train_tiny(run, {"trainer.max_steps=5", "trainer.val_check_interval=2", unsaid});
  CHECK(output.find("warning") == std::string::npos);
  for (const char* name : {"step=2", "step=4", "step=5"}) {
    CHECK_MESSAGE(output.find(std::string("checkpoints/") + name) != std::string::npos, output);
  }
}

TEST_CASE("a run that saves too late to save anything is warned of that") {
  const TemporaryFolder folder;
  const std::string late = "exp_manager.checkpoint_callback_params.every_n_epochs=1";
  const Words words = {"trainer.max_steps=2", "trainer.limit_train_batches=9",
                       "model.lr_scheduler.warmup_steps=0",
                       "~exp_manager.checkpoint_callback_params.every_n_train_steps", late};
  const std::string warned = "no checkpoint is written before the last step (2)";
  CHECK(train_tiny(folder.path() / "run", words).find(warned) != std::string::npos);
  Words check = tiny_words("check", folder.path() / "run", words);
  check.insert(check.begin(), "config");
  const Outcome checked = run_s2s(check);
  CHECK(checked.exit_code == 0);
  CHECK_MESSAGE(checked.output.find("warning: " + warned) != std::string::npos, checked.output);
}

TEST_CASE("a monitor that no validation has is one warning, and the newest stay") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string output =
      train_tiny(run, {"trainer.max_steps=4", "trainer.val_check_interval=1",
                       "model.lr_scheduler.warmup_steps=0",
                       "exp_manager.checkpoint_callback_params.every_n_train_steps=1",
                       "exp_manager.checkpoint_callback_params.monitor=val_asr_bleu"});
  const size_t warned = output.find("monitor: 'val_asr_bleu' is never measured, so the newest");
  REQUIRE_MESSAGE(warned != std::string::npos, output);
  CHECK(output.find("val_asr_bleu", warned + 60) == std::string::npos);
  CHECK(fs::exists(run / "checkpoints/step=4"));
  CHECK(fs::exists(run / "checkpoints/step=3"));
  CHECK_FALSE(fs::exists(run / "checkpoints/step=2"));
}

TEST_CASE("the manifest says versions, plugins with their hashes, host and command line") {
  const json manifest = json::parse(read_text(uninterrupted_run() / "manifest.json"));
  for (const char* key : {"s2s", "torch", "started_unix_s", "git_commit"}) {
    CHECK_MESSAGE(manifest.contains(key), key);
  }
  CHECK(manifest["host"].contains("name"));
  CHECK(manifest["command_line"][1] == "train");
  std::vector<std::string> names;
  for (const json& plugin : manifest["plugins"]) {
    names.push_back(plugin["name"]);
    CHECK(plugin["sha1"].get<std::string>().size() == 40);
    CHECK(fs::exists(plugin["file"].get<std::string>()));
  }
  for (const char* name : {"llama", "fastconformer", "mel_fsq", "adamw", "cuts", "single"}) {
    CHECK_MESSAGE(std::count(names.begin(), names.end(), name) == 1, name);
  }
}

TEST_CASE("a finished run has nothing to do, and goes on when max_steps is raised") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  fs::copy(uninterrupted_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto before = lasting_metrics(run);
  CHECK(train_tiny(run, eventful_options()).find("nothing to do: 24 steps are done") !=
        std::string::npos);
  CHECK(lasting_metrics(run) == before);
  Words longer = eventful_options();
  longer[0] = "trainer.max_steps=26";
  const std::string output = train_tiny(run, longer);
  CHECK(output.find("trainer.max_steps: 24 before, 26 now") != std::string::npos);
  CHECK(num_steps_logged(run) == 26);
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=26");
}

TEST_CASE(
    "a run that goes on with another plugin file says so once; a file that moved is the same") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  fs::copy(uninterrupted_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const fs::path plugins = folder.path() / "plugins";
  fs::create_directory(plugins);
  const fs::path built =
      fs::path(s2s::test::binary_dir()) / "lib/s2s/plugins/libs2s_optimizer_adamw.so";
  fs::copy(built, plugins / "libs2s_optimizer_adamw.so");
  Words words = eventful_options();
  words.insert(words.end(), {"--plugin-path", plugins.string()});
  CHECK_FALSE(contains(train_tiny(run, words), "[run/other-plugin]"));
  std::ofstream(plugins / "libs2s_optimizer_adamw.so", std::ios::app) << "another build";
  const std::string manifest = (run / "manifest.json").string();
  const std::string output = train_tiny(run, words);
  CHECK_MESSAGE(contains(output, "warning: [run/other-plugin] " + manifest +
                                     ": plugins come from other files"),
                output);
  for (const std::string& part :
       Words{"\n  optimizer:adamw: adamw ", built.string(), " before, adamw ",
             "(" + plugins.string() + "/libs2s_optimizer_adamw.so, sha1 ",
             "expected the same files", "--plugin-path"}) {
    CHECK_MESSAGE(contains(output, part), part);
  }
  CHECK_FALSE(contains(train_tiny(run, words), "[run/other-plugin]"));  // recorded by now
  write_text(manifest, "{}");
  CHECK(contains(train_tiny(run, words), "[run/other-plugin] " + manifest + ": not a manifest"));
}

TEST_CASE("a run that may not resume refuses a folder that holds one") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  fs::copy(uninterrupted_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto before = contents(run);
  const Outcome outcome = run_s2s(tiny_words("train", run, {"exp_manager.resume_if_exists=false"}));
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output.find("[run/not-empty]") != std::string::npos);
  CHECK(contents(run) == before);
}

TEST_CASE("validate writes the report and a prediction for every example") {
  const TemporaryFolder folder;
  const std::string checkpoint = (uninterrupted_run() / "checkpoints/last").string();
  const Outcome outcome =
      run_s2s(tiny_words("validate", folder.path(), {"--checkpoint", checkpoint}));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const fs::path report = folder.path() / "report";
  CHECK(fs::file_size(report / "index.html") > 10000);
  std::ifstream cuts(tiny_set() / "dev.jsonl"), predictions(report / "predictions.jsonl");
  int num_cuts = 0;
  for (std::string cut, prediction; std::getline(cuts, cut); ++num_cuts) {
    REQUIRE(std::getline(predictions, prediction));
    CHECK(json::parse(prediction)["id"] == json::parse(cut)["id"]);
  }
  CHECK(num_cuts > 0);
  CHECK(std::distance(fs::directory_iterator(report / "wav"), {}) == 4 * num_cuts);
  for (const char* text : {"text_loss", "audio_accuracy", "report: "}) {
    CHECK_MESSAGE(outcome.output.find(text) != std::string::npos, text);
  }
}

TEST_CASE("a run that goes on with more steps is told that its learning rate jumps") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, {"trainer.max_steps=10"});
  const std::string longer = train_tiny(run, {"trainer.max_steps=20"});
  CHECK_MESSAGE(contains(longer, "the learning rate of step 11 is "), longer);
  CHECK(contains(longer, ", but was 1e-05 in the previous configuration"));
  const std::string same =
      train_tiny(run, {"trainer.max_steps=21", "model.lr_scheduler.max_steps=20"});
  CHECK_FALSE(contains(same, "the learning rate of step"));
}
