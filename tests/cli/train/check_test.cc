// config check of a whole run: what it calls ok trains its first step.

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

Outcome check(const TemporaryFolder& folder, const Words& more) {
  Words words = tiny_words("check", folder.path() / "run", more);
  words.insert(words.begin(), "config");
  return run_s2s(words);
}

}  // namespace

TEST_CASE("config check opens the tokenizer, pretrained folders and the first cut of each set") {
  const TemporaryFolder folder;
  write_text(folder.path() / "empty.jsonl", "");
  write_text(folder.path() / "broken.jsonl", "{\"id\": 3\n");
  const std::string gone = (folder.path() / "gone").string();
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  CHECK(contains(check(folder, {}).output, "ok"));
  struct Case {
    Words words;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"~model.tokenizer.train", "model.tokenizer.path=" + gone}, "gone"},
      {{"data.train_ds.cuts_path=" + gone}, "[data/"},
      {{"data.train_ds.cuts_path=" + at("empty.jsonl")}, "data.train_ds: the set has no "},
      {{"data.validation_ds.datasets.dev.cuts_path=" + at("broken.jsonl")}, "broken.jsonl"},
      {{"model.llm.path=" + gone}, "gone"},
  };
  for (const Case& mistake : cases) {
    const Outcome found = check(folder, mistake.words);
    CAPTURE(found.output);
    CHECK(found.exit_code == 3);
    CHECK(contains(found.output, "error: ["));
    CHECK(contains(found.output, mistake.message));
    CHECK_FALSE(contains(found.output, "\nok"));
  }
  const Outcome both = check(folder, {"~model.tokenizer.train", "model.tokenizer.path=" + gone,
                                      "data.train_ds.cuts_path=" + at("empty.jsonl")});
  CHECK(contains(both.output, "gone"));  // all in one go
  CHECK(contains(both.output, "the set has no cuts"));
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("config check warns of memory that no machine has, and of a monitor nobody measures") {
  const TemporaryFolder folder;
  const Outcome large =
      check(folder, {"model.llm.hidden_size=262144", "model.llm.intermediate_size=4194304"});
  CAPTURE(large.output);
  CHECK(large.exit_code == 0);
  CHECK(contains(large.output, "warning: [run/memory] parameters, gradients and optimizer state "));
  const Outcome spent =
      run_s2s(tiny_words("train", folder.path() / "run",
                         {"model.llm.hidden_size=262144", "model.llm.intermediate_size=4194304"}));
  CHECK(spent.exit_code == 1);
  const size_t warned = spent.output.find("warning: [run/memory] parameters, gradients and ");
  const size_t ended = spent.output.find("error: [run/memory] out of memory: ");
  REQUIRE_MESSAGE(warned != std::string::npos, spent.output);
  CHECK_MESSAGE(ended != std::string::npos, spent.output);
  CHECK(warned < ended);
  const Outcome monitor =
      check(folder, {"exp_manager.checkpoint_callback_params.monitor=val_text_loss",
                     "~trainer.val_check_interval"});
  CHECK(monitor.exit_code == 0);
  CHECK_MESSAGE(contains(monitor.output, "'val_text_loss' is never measured"), monitor.output);
}

TEST_CASE(
    "config check looks at the checkpoint to begin with, and knows that nothing is downloaded") {
  const TemporaryFolder folder;
  const std::string from = "exp_manager.resume_from_checkpoint=";
  const Outcome missing = check(folder, {from + "/no/such/step=4"});
  CHECK(missing.exit_code == 3);
  CHECK_MESSAGE(contains(missing.output, "[checkpoint/missing] no checkpoint at /no/such/step=4"),
                missing.output);
  const std::string other = (uninterrupted_run() / "checkpoints/last").string();
  CHECK(check(folder, {from + other}).exit_code == 0);
  CHECK(check(folder, {from + uninterrupted_run().string()}).exit_code == 0);  // its last
  const Outcome hub = check(folder, {"model.llm.path=meta-llama/Llama-3.2-1B"});
  CHECK(hub.exit_code == 3);
  CHECK_MESSAGE(contains(hub.output, "there is no such folder, and nothing is downloaded"),
                hub.output);
}

TEST_CASE("config check says when this machine is not the one to train on") {
  const TemporaryFolder folder;
  const bool has_driver = fs::exists("/proc/driver/nvidia/version");
  for (const char* const name : {"gpu", "cuda"}) {
    const Outcome found = check(folder, {std::string("trainer.accelerator=") + name});
    CHECK(found.exit_code == 0);
    CHECK(contains(found.output, "this machine has no NVIDIA driver") == !has_driver);
  }
}

TEST_CASE("a machine without a GPU and a vocabulary that is too small end a run at its start") {
  const TemporaryFolder folder;
  const auto ended = [&](const std::string& word) {
    const Outcome outcome = run_s2s(tiny_words("train", folder.path() / "run", {word}));
    CHECK(outcome.exit_code != 0);
    return outcome.output;
  };
  if (!fs::exists("/proc/driver/nvidia/version")) {
    CHECK(contains(ended("trainer.accelerator=gpu"), "error: [config/accelerator] "));
  }
  CHECK(contains(ended("model.llm.vocab_size=10"), "error: [model/vocabulary] "));
}

TEST_CASE("before the first run, what data.synth is going to make is no mistake") {
  const TemporaryFolder folder;
  const std::string config = s2s::test::source_dir() + "/configs/tiny.yaml";
  const Outcome fresh =
      run_s2s({"config", "check", config, "tiny.data=" + (folder.path() / "data").string(),
               "tiny.run=" + (folder.path() / "run").string()});
  CHECK(fresh.exit_code == 0);
  CHECK_MESSAGE(contains(fresh.output, "note: data.synth: training makes "), fresh.output);
  CHECK(contains(fresh.output, "\nok"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("config check tries the run folder and its checkpoints, and leaves nothing behind") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  write_text(folder.path() / "file", "x");
  const Outcome in_file = check(folder, {"exp_manager.explicit_log_dir=" + at("file/run")});
  CHECK(in_file.exit_code == 3);
  CHECK_MESSAGE(contains(in_file.output, "error: [run/folder] " + at("file/run")), in_file.output);
  const Outcome nowhere = check(folder, {"exp_manager.explicit_log_dir=/proc/nosuch/run"});
  CHECK_MESSAGE(contains(nowhere.output, "error: [run/folder] /proc/nosuch/run"), nowhere.output);
  const Outcome copies = check(folder, {"exp_manager.files_to_copy=[" + at("gone") + "]"});
  CHECK_MESSAGE(contains(copies.output, "error: [run/folder] "), copies.output);
  CHECK(check(folder, {}).exit_code == 0);
  CHECK_FALSE(fs::exists(folder.path() / "run"));
  fs::create_directory(folder.path() / "run");
  write_text(folder.path() / "run/checkpoints", "x");
  const Outcome saves = check(folder, {});
  CHECK_MESSAGE(contains(saves.output, "error: [checkpoint/write] "), saves.output);
  CHECK(fs::is_regular_file(folder.path() / "run/checkpoints"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
  CHECK(std::distance(fs::directory_iterator(folder.path() / "run"), {}) == 1);
}

TEST_CASE("config check makes a batch of each set, and compares the checkpoint with the model") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "dev.jsonl").string();
  std::string cuts = read_text(tiny_set() / "dev.jsonl");
  const size_t audio = cuts.find(".wav");
  REQUIRE(audio != std::string::npos);
  write_text(file, cuts.replace(audio, 4, "-gone.wav"));
  for (const char* const command : {"check", "train"}) {
    Words words = tiny_words(
        command, folder.path() / "run",
        {"data.validation_ds.datasets.dev.cuts_path=" + file, "trainer.num_sanity_val_steps=1"});
    if (std::string(command) == "check") words.insert(words.begin(), "config");
    const Outcome found = run_s2s(words);
    CAPTURE(found.output);
    CHECK(found.exit_code != 0);
    CHECK(contains(found.output, "-gone.wav"));
  }
  const std::string other = (uninterrupted_run() / "checkpoints/last").string();
  const Outcome wide = check(
      folder, {"exp_manager.resume_from_checkpoint=" + other, "model.llm.intermediate_size=48"});
  CHECK(wide.exit_code == 3);
  CHECK_MESSAGE(contains(wide.output, "error: [checkpoint/model] "), wide.output);
}
