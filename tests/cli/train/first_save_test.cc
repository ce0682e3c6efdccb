// A place that no checkpoint can be written to is found before the first step.

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "checkpoint/checkpoint_probe.h"
#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const Words kLate = {"exp_manager.checkpoint_callback_params.every_n_train_steps=1000",
                     "trainer.max_steps=5000"};

/// Trains until its first save, which no test waits for, with a call that fails.
Outcome train_failing(const fs::path& run, const std::string& order) {
  return run_s2s(tiny_words("train", run, kLate),
                 {{"LD_PRELOAD", s2s::test::binary_dir() + "/tests/fail_at_call.so"},
                  {"S2S_TEST_FAIL_PATH", order}});
}

bool is_empty_or_absent(const fs::path& folder) {
  return !fs::exists(folder) || fs::is_empty(folder);
}

}  // namespace

TEST_CASE("a folder in which a save must fail ends a run before its first step") {
  struct Case {
    std::string call;
    int number;
  };
  const std::vector<Case> cases = {
      {"mkdir:checkpoints:", EACCES},  {"mkdir:.step=probe:", EROFS},
      {"fsync:.step=probe:", ENOSPC},  {"rename:.step=probe:", EIO},
      {"symlink:.step=probe:", EPERM}, {"fsync:/checkpoints:", EDQUOT}};
  for (const auto& [call, number] : cases) {
    const TemporaryFolder folder;
    const fs::path run = folder.path() / "run";
    const Outcome outcome = train_failing(run, call + std::to_string(number));
    CAPTURE(call);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 5);
    CHECK(contains(outcome.output, "error: [checkpoint/write]"));
    CHECK(contains(outcome.output, "tried before the first step"));
    CHECK(contains(outcome.output, std::strerror(number)));
    CHECK(num_steps_logged(run) == 0);
    CHECK(is_empty_or_absent(run / "checkpoints"));
  }
}

TEST_CASE("the remains of a probe that was killed are removed by the next start") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  fs::create_directories(run / "checkpoints/.step=probe.partial");
  fs::create_directories(run / "checkpoints/.step=probed.partial");
  write_text(run / "checkpoints/.step=probed.partial/file", "s");
  train_tiny(run, {"trainer.max_steps=3"});
  CHECK_FALSE(fs::exists(run / "checkpoints/.step=probe.partial"));
  CHECK_FALSE(fs::exists(run / "checkpoints/.step=probed.partial"));
}

TEST_CASE("config check and the first lines of a run say when the first save is") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Words words = with(kLate, {"exp_manager.checkpoint_callback_params.train_time_interval="
                                   "00:03:00:00"});
  Words check = tiny_words("check", run, words);
  check.insert(check.begin(), "config");
  const std::string expected = "after step 1000 of 5000, or after 3 hours if that comes first";
  const Outcome checked = run_s2s(check);
  CHECK_MESSAGE(contains(checked.output, "the first checkpoint is saved " + expected + "\nok"),
                checked.output);
  const Outcome json = run_s2s(with(check, {"--json"}));
  CHECK_MESSAGE(nlohmann::json::parse(json.output)["first_checkpoint"] == expected, json.output);
  CHECK(contains(train_tiny(run, {"trainer.max_steps=3"}),
                 "the first checkpoint of this start is saved after step 3 of 3"));
  CHECK(contains(train_tiny(run, {"trainer.max_steps=6"}),
                 "the first checkpoint of this start is saved after step 5 of 6"));
}

TEST_CASE("a disk without room for the weights is no place for a run") {
  CHECK(s2s::room_fault(int64_t{2000000}, int64_t{2000000}).empty());
  CHECK(s2s::room_fault(int64_t{1000000}, int64_t{2500000}) ==
        "1.0 MB are free on its disk, and a checkpoint takes at least 2.5 MB");
  const TemporaryFolder folder;
  CHECK(s2s::room_fault(folder.path(), 1).empty());
  CHECK(contains(s2s::room_fault(folder.path(), std::numeric_limits<int64_t>::max() / 2),
                 "MB are free on its disk"));
  CHECK(s2s::room_fault(folder.path() / "absent", 1).empty());
}
