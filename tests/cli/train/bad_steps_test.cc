// A step that goes wrong in a run, and what `train --replay` says of it.

#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "train/saved_step.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// A run whose learning rate makes its loss infinite or nan within a few steps.
Words diverging(const fs::path& run) {
  return tiny_words("train", run,
                    {"model.optimizer.lr=1e25", "model.lr_scheduler.warmup_steps=0",
                     "trainer.gradient_clip_val=null", "trainer.val_check_interval=1000"});
}

std::vector<fs::path> saved_steps(const fs::path& run) {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "bad_steps", none)) {
    if (entry.path().extension() == ".safetensors") out.push_back(entry.path());
  }
  return out;
}

}  // namespace

TEST_CASE("train --replay repeats a step that was not finite, and names the module") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Outcome outcome = run_s2s(diverging(run));
  REQUIRE_MESSAGE(outcome.exit_code == 6, outcome.output);
  const std::vector<fs::path> saved = saved_steps(run);
  REQUIRE(saved.size() == 1);
  CHECK_MESSAGE(contains(outcome.output, "s2s-run train --replay " + saved[0].string()),
                outcome.output);

  // The data is not there any more, and the folder has moved: the file and its weights suffice.
  const fs::path moved = folder.path() / "moved";
  fs::rename(run / "bad_steps", moved);
  fs::remove_all(run);
  const Outcome replay = run_s2s({"train", "--replay", (moved / saved[0].filename()).string()});
  CHECK_MESSAGE(replay.exit_code == 0, replay.output);
  CHECK_MESSAGE(contains(replay.output, "saved because the "), replay.output);
  CHECK(contains(replay.output, "equal bit for bit"));
  CHECK_FALSE(contains(replay.output, "different"));
  CHECK(contains(replay.output, "train-0"));
  CHECK_MESSAGE(contains(replay.output, "module:    "), replay.output);
  CHECK_FALSE(contains(replay.output, "all outputs and gradients are finite"));
}

TEST_CASE("a step of two ranks is run again by one process, the part of each rank bit for bit") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  // Losses that only fluctuate: some step is above the mean.
  Words words = tiny_words(
      "train", run,
      {"trainer.max_steps=26", "model.optimizer.lr=1e-9", "model.lr_scheduler.min_lr=0",
       "trainer.loss_spike=1", "trainer.val_check_interval=1000", "trainer.strategy.name=fsdp"});
  const Words launch = {"launch", "local", "-n", "2", "--"};
  words.insert(words.begin(), launch.begin(), launch.end());
  const Outcome outcome = run_s2s(words);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<fs::path> saved = saved_steps(run);
  REQUIRE(saved.size() >= 2);  // of both ranks
  for (const fs::path& file : {saved[0], saved[1]}) {
    const Outcome replay = run_s2s({"train", "--replay", file.string()});
    CHECK_MESSAGE(replay.exit_code == 0, replay.output);
    CHECK_MESSAGE(contains(replay.output, "equal bit for bit"), replay.output);
    CHECK(contains(replay.output, " of 2; the loss is its part"));
    CHECK(contains(replay.output, "all outputs and gradients are finite"));
  }
}

TEST_CASE("a damaged file of a saved step is one message") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  REQUIRE(run_s2s(diverging(run)).exit_code == 6);
  const fs::path file = saved_steps(run).at(0);
  const s2s::SavedStep good = s2s::read_saved_step(file.string());
  using Damage = std::function<void(s2s::Batch&)>;
  const std::map<std::string, Damage> damages = {
      {"contains 256", [](s2s::Batch& batch) { batch.target_tokens_BT[0][0] = 256; }},
      {"source_audio_BS is Float",
       [](s2s::Batch& batch) { batch.source_audio_BS = batch.source_audio_BS.unsqueeze(1); }},
      // Only the model knows what fits together.
      {"cannot be replayed", [](s2s::Batch& batch) { batch.source_audio_BS.reset(); }},
      {"cannot be replayed: batch 1: it has no ids", [](s2s::Batch& batch) { batch.ids.clear(); }}};
  for (const auto& [reason, damage] : damages) {
    s2s::SavedStep step = good;
    for (const auto& [name, tensor] : s2s::named_tensors(step.batches[0])) {
      if (tensor->defined()) *tensor = tensor->clone();
    }
    damage(step.batches[0]);
    s2s::write_saved_step(file.string(), step);
    const Outcome replay = run_s2s({"train", "--replay", file.string()});
    CAPTURE(reason);
    CHECK_MESSAGE(replay.exit_code == 5, replay.output);
    CHECK_MESSAGE(contains(replay.output, "[run/replay]"), replay.output);
    CHECK_MESSAGE(contains(replay.output, reason), replay.output);
  }
}

TEST_CASE("a file that is no saved step cannot be replayed") {
  const Outcome outcome =
      run_s2s({"train", "--replay",
               (uninterrupted_run() / "checkpoints/step=5/model.safetensors").string()});
  CHECK(outcome.exit_code == 5);
  CHECK_MESSAGE(contains(outcome.output, "[run/replay]"), outcome.output);
}

TEST_CASE("save_bad_steps 0 saves nothing") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Words words = diverging(run);
  words.push_back("trainer.save_bad_steps=0");
  const Outcome outcome = run_s2s(words);
  CHECK(outcome.exit_code == 6);
  CHECK_FALSE(fs::exists(run / "bad_steps"));
  CHECK_FALSE(contains(outcome.output, "--replay"));
}

TEST_CASE("a slow step of one process leaves a record that launch diagnose prints") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, {"trainer.max_steps=3", "trainer.accumulate_grad_batches=40",
                   "exp_manager.slow_step_s=0.2"});
  REQUIRE(fs::exists(run / "flight.0.json"));
  const Outcome outcome = run_s2s({"launch", "diagnose", run.string(), "--stacks"});
  CHECK(outcome.exit_code == 0);
  CHECK_MESSAGE(contains(outcome.output, " takes longer than 0.2 s"), outcome.output);
  CHECK(contains(outcome.output, "  batch:   train-0"));
  CHECK(contains(outcome.output, "  thread "));
  CHECK(contains(outcome.output, "libtorch_cpu.so"));
}
