// A run that was killed or stopped anywhere goes on as if nothing had happened.

#include <doctest/doctest.h>
#include <signal.h>

#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

Words eventful_train(const fs::path& run, const Words& more = {}) {
  Words words = tiny_words("train", run, eventful_options());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Starts the eventful run and kills it once it has logged `steps` optimizer steps.
void kill_after(const fs::path& run, int steps) {
  Process process(eventful_train(run));
  REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= steps; }));
  process.send(SIGKILL);
  CHECK(process.wait().signal == SIGKILL);
}

/// Runs until the preloaded library kills it in place of the `call`-th write while step 20's
/// checkpoint is written. False when there were fewer.
bool killed_while_saving(const fs::path& run, int call) {
  const Outcome outcome = run_s2s(
      eventful_train(run), {{"LD_PRELOAD", s2s::test::binary_dir() + "/tests/kill_at_call.so"},
                            {"S2S_TEST_KILL", ".step=20.partial:" + std::to_string(call)}});
  CHECK_MESSAGE((outcome.signal == SIGKILL || outcome.exit_code == 0), outcome.output);
  return outcome.signal == SIGKILL;
}

}  // namespace

TEST_CASE("the noise of the resume tests is there: without it the run is another") {
  const TemporaryFolder folder;
  train_tiny(folder.path() / "run", {"trainer.max_steps=1", "model.encoder.encoder.dropout=0.1",
                                     "model.lr_scheduler.max_steps=24"});
  CHECK(metrics(folder.path() / "run")[0]["loss"] != metrics(uninterrupted_run())[0]["loss"]);
}

TEST_CASE("equal seeds give equal runs, another seed another one") {
  const TemporaryFolder folder;
  train_tiny(folder.path() / "same", eventful_options());
  check_same_run(folder.path() / "same", uninterrupted_run());
  Words other = eventful_options();
  other[0] = "trainer.max_steps=4";
  other.push_back("trainer.seed=2");
  train_tiny(folder.path() / "other", other);
  CHECK(metrics(folder.path() / "other")[0]["loss"] != metrics(uninterrupted_run())[0]["loss"]);
}

TEST_CASE("kill -9 at any step loses nothing: the resumed run equals an uninterrupted one") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  for (const int step : {1, 4, 7, 13, 22}) kill_after(run, step);  // each resumes the one before
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("kill -9 at any moment of writing a checkpoint loses nothing") {
  const TemporaryFolder folder;
  const fs::path prepared = folder.path() / "prepared";
  copy_as_killed(uninterrupted_run(), prepared, 15);
  int calls = 0;
  for (bool killed = true; killed; calls += 3) {
    const fs::path run = folder.path() / ("run" + std::to_string(calls));
    fs::copy(prepared, run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    killed = killed_while_saving(run, calls);
    if (killed) train_tiny(run, eventful_options());
    CAPTURE(calls);
    check_same_run(run, uninterrupted_run());
    fs::remove_all(run);
  }
  CHECK(calls > 14);  // four files, the folder, its name and the link were all interrupted
}

TEST_CASE("checkpoints that are written beside training lose nothing either") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string async = "exp_manager.checkpoint_callback_params.async_save=true";
  for (const int step : {6, 11}) {
    Process process(eventful_train(run, {async}));
    REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= step; }));
    process.send(SIGKILL);
    process.wait();
    if (fs::exists(run / "checkpoints/last")) {
      CHECK(run_s2s({"checkpoint", "verify", (run / "checkpoints/last").string()}).exit_code == 0);
    }
  }
  {
    Process process(eventful_train(run, {async}));
    REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= 16; }));
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK_MESSAGE(outcome.exit_code == 8, outcome.output);
    const std::string last = fs::read_symlink(run / "checkpoints/last").string();
    CHECK(last == "step=" + std::to_string(num_steps_logged(run)));
  }
  Words options = eventful_options();
  options.push_back(async);
  train_tiny(run, options);
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a torn last line of metrics.jsonl is fixed on resume") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const std::string text = read_text(run / "metrics.jsonl");
  write_text(run / "metrics.jsonl", text.substr(0, text.size() - 100));
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a validation that was owed, and made by a start that then crashed, is one line") {
  const TemporaryFolder folder;
  Words options = eventful_options();
  options[0] = "trainer.max_steps=10";
  options.insert(options.end(), {"trainer.val_check_interval=5"});
  const fs::path straight = folder.path() / "straight", run = folder.path() / "run";
  train_tiny(straight, options);
  const auto validations = [&](const fs::path& of) {
    int64_t count = 0;
    for (const auto& line : metrics(of)) count += line.contains("validation") && line["step"] == 5;
    return count;
  };
  CHECK(validations(straight) == 1);
  // Stopped after step 5, before its validation; the next start made it and crashed.
  copy_as_killed(straight, run, 5);
  forget_checksums(run / "checkpoints/step=5");
  const fs::path state = run / "checkpoints/step=5/state.json";
  auto content = nlohmann::json::parse(read_text(state));
  content["trainer_state"] = R"({"owes_validation": 1})";
  write_text(state, content.dump());
  train_tiny(run, options);
  CHECK(validations(run) == 1);
  CHECK(metrics(run).size() == metrics(straight).size());
}

TEST_CASE("accumulated micro-batches resume bit for bit, too") {
  const TemporaryFolder folder;
  Words options = eventful_options();
  options[0] = "trainer.max_steps=8";
  options.push_back("trainer.accumulate_grad_batches=2");
  train_tiny(folder.path() / "straight", options);
  copy_as_killed(folder.path() / "straight", folder.path() / "resumed", 5);
  train_tiny(folder.path() / "resumed", options);
  check_same_run(folder.path() / "resumed", folder.path() / "straight");
}

TEST_CASE("float16 resumes bit for bit, with its loss scale") {
  const TemporaryFolder folder;
  Words options = eventful_options();
  options[0] = "trainer.max_steps=8";
  options.push_back("trainer.precision=16-mixed");
  train_tiny(folder.path() / "straight", options);
  copy_as_killed(folder.path() / "straight", folder.path() / "resumed", 5);
  train_tiny(folder.path() / "resumed", options);
  check_same_run(folder.path() / "resumed", folder.path() / "straight");
  CHECK(metrics(folder.path() / "resumed")[0]["loss_scale"] == 65536);
}

TEST_CASE("SIGUSR1, as batch systems send it, ends the run as ^C does") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Process process(eventful_train(run));
  REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= 2; }));
  process.send(SIGUSR1);
  process.send(SIGUSR1);  // its launcher's
  const Outcome outcome = process.wait();
  CHECK_MESSAGE(outcome.exit_code == 8, outcome.output);
}

TEST_CASE("^C ends the run after the step, with a checkpoint and exit code 8") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Process process(eventful_train(run));
  REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= 2; }));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  CHECK_MESSAGE(outcome.exit_code == 8, outcome.output);
  CHECK(outcome.output.find("stopping after this step") != std::string::npos);
  CHECK(outcome.output.find("run the same command to continue") != std::string::npos);
  const std::string last = fs::read_symlink(run / "checkpoints/last").string();
  CHECK(last == "step=" + std::to_string(num_steps_logged(run)));
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a second ^C stops at once, and what was saved stays") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 5);
  {
    // Steps long enough that two signals fall into one.
    Process process(eventful_train(run, {"trainer.accumulate_grad_batches=100"}));
    REQUIRE(wait_until(process, [&] { return num_steps_logged(run) == 5; }));
    process.send(SIGINT);
    int signals = 1;
    wait_until(process, [&] {
      process.send(SIGINT);
      ++signals;
      return false;
    });
    const Outcome outcome = process.wait();
    CHECK_MESSAGE(outcome.exit_code == 130, outcome.output);
    CHECK(signals > 1);
  }
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=5");
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("the time limit stops a run as ^C does") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const Outcome outcome = run_s2s(eventful_train(
      run, {"trainer.max_steps=100000", "exp_manager.max_time_per_run=00:00:00:01"}));
  CHECK_MESSAGE(outcome.exit_code == 8, outcome.output);
  const std::string last = fs::read_symlink(run / "checkpoints/last").string();
  CHECK(last == "step=" + std::to_string(num_steps_logged(run)));
}
