// What the machine refuses while a run works costs no checkpoint.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kPreload = s2s::test::binary_dir() + "/tests/fail_at_call.so";

}  // namespace

TEST_CASE("a save that gets no thread is written while training waits, and nothing is lost") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Words words = tiny_words("train", run, eventful_options());
  words.emplace_back("exp_manager.checkpoint_callback_params.async_save=true");
  words.emplace_back("exp_manager.checkpoint_callback_params.save_top_k=0");
  const Outcome outcome =
      run_s2s(words, {{"LD_PRELOAD", kPreload}, {"S2S_TEST_FAIL_THREAD", ".step=20.partial"}});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK_MESSAGE(contains(outcome.output, "warning: [run/threads]"), outcome.output);
  CHECK(
      contains(outcome.output, "training waits until this checkpoint is written, then continues"));
  CHECK(run_s2s({"checkpoint", "verify", (run / "checkpoints/last").string()}).exit_code == 0);
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a write that is interrupted for ever ends in a message") {
  const TemporaryFolder folder;
  Words words = tiny_words("train", folder.path() / "run", {"trainer.max_steps=3"});
  for (const char* file : {"model.safetensors", "state.json"}) {
    const Outcome outcome =
        run_s2s(words, {{"LD_PRELOAD", kPreload}, {"S2S_TEST_INTERRUPT", file}});
    CHECK_MESSAGE(outcome.exit_code > 0, outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "[checkpoint/write]"), outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "Interrupted system call"), outcome.output);
    fs::remove_all(folder.path() / "run");
  }
}

TEST_CASE("a weight file that becomes shorter while it is read is one message") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const fs::path checkpoint = run / "checkpoints/step=20", file = checkpoint / "model.safetensors";
  const std::string whole = read_text(file);
  struct Case {
    const char* command;
    fs::path path;
    int exit_code;
  };
  // verify reads bytes with pread and goes on; a header is read where it is mapped.
  for (const Case& c : {Case{"verify", checkpoint, 1}, Case{"inspect", file, 5}}) {
    const Outcome outcome =
        run_s2s({"checkpoint", c.command, c.path.string()},
                {{"LD_PRELOAD", kPreload}, {"S2S_TEST_CUT", "step=20/model.safetensors:0"}});
    CHECK(outcome.signal == 0);
    CHECK_MESSAGE(outcome.exit_code == c.exit_code, outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "it became shorter while it was read"), outcome.output);
    write_text(file, whole);
  }
}

TEST_CASE("what a killed run left in its folder is gone when the run goes on") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  write_text(run / ".metrics.jsonl.s2s-a1b2c3", "half");
  train_tiny(run, eventful_options());
  CHECK_FALSE(fs::exists(run / ".metrics.jsonl.s2s-a1b2c3"));
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("lines of metrics.jsonl that a power cut took are told, and an odd one ends no run") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  write_text(run / "metrics.jsonl", "{\"step\":\"x\"}\n{\"step\":1}\n");
  const std::string output = train_tiny(run, eventful_options());
  CHECK_MESSAGE(contains(output, "metrics.jsonl: line 1 is not the line of a step"), output);
  CHECK_MESSAGE(contains(output, "lacks the lines of steps 2 to 20"), output);
}
