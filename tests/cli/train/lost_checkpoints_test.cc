// A run folder that has held checkpoints never becomes a run from step 0 without a word.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const Words kOptions = {"trainer.max_steps=4", "trainer.limit_val_batches=1",
                        "exp_manager.checkpoint_callback_params.every_n_train_steps=2",
                        "exp_manager.checkpoint_callback_params.save_top_k=-1"};

/// A finished run with the checkpoints step=2 and step=4, made at its first use.
const fs::path& finished_run() {
  static const TemporaryFolder folder;
  static const fs::path run = [] {
    train_tiny(folder.path() / "run", kOptions);
    return folder.path() / "run";
  }();
  return run;
}

/// A copy of it in `folder`.
fs::path copy_of_run(const TemporaryFolder& folder) {
  const fs::path run = folder.path() / "run";
  fs::copy(finished_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  return run;
}

Outcome train_again(const fs::path& run, const Words& more = {}) {
  return run_s2s(tiny_words("train", run, with(with(kOptions, {"trainer.max_steps=5"}), more)));
}

/// Checks that training is refused with `id` and `texts`, and that no line of metrics is lost.
void check_refused(const fs::path& run, const std::string& id, const Words& texts) {
  const std::string before = read_text(run / "metrics.jsonl");
  const Outcome outcome = train_again(run);
  CHECK_MESSAGE(outcome.exit_code == 5, outcome.output);
  CHECK_MESSAGE(contains(outcome.output, "error: [" + id + "]"), outcome.output);
  for (const std::string& text : texts) {
    CHECK_MESSAGE(contains(outcome.output, text), text << " in: " << outcome.output);
  }
  CHECK(read_text(run / "metrics.jsonl") == before);
}

void check_resumed(const Outcome& outcome, const std::string& checkpoint) {
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK_MESSAGE(contains(outcome.output, "resumed from " + checkpoint), outcome.output);
}

void rename_checkpoints(const fs::path& run) {
  for (const char* const name : {"step=2", "step=4"}) {
    fs::rename(run / "checkpoints" / name, run / "checkpoints" / (std::string("my-") + name));
  }
}

}  // namespace

TEST_CASE("without the link last, a run resumes from its newest checkpoint") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  fs::remove(run / "checkpoints/last");
  check_resumed(train_again(run), (run / "checkpoints/step=4").string());
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=5");
}

TEST_CASE("a run whose newest checkpoint is gone says so and resumes from the one before") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  fs::rename(run / "checkpoints/step=4", run / "checkpoints/kept");
  const Outcome outcome = train_again(run);
  check_resumed(outcome, (run / "checkpoints/step=2").string());
  CHECK_MESSAGE(contains(outcome.output, "[checkpoint/pointer]"), outcome.output);
  CHECK_MESSAGE(contains(outcome.output, "a link to step=4, which does not exist"), outcome.output);
}

TEST_CASE("a last that is no link is refused, and the message names the checkpoints") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  const fs::path last = run / "checkpoints/last";
  const std::string move = "mv '" + last.string() + "' '" + last.string() + ".old'";
  for (const char* const content : {"", "step=4\n", "\x01\x02 not a name"}) {
    fs::remove(last);
    write_text(last, content);
    check_refused(run, "checkpoint/pointer", {"is a file", "step=2, step=4", move});
  }
  fs::remove(last);
  fs::copy(run / "checkpoints/step=4", last, fs::copy_options::recursive);  // as cp -rL does
  check_refused(run, "checkpoint/pointer", {"is a folder", "step=2, step=4", move});
  fs::rename(last, last.string() + ".old");  // what the message says
  check_resumed(train_again(run), (run / "checkpoints/step=4").string());
}

TEST_CASE("renamed checkpoints are found, and both ways of the message resume") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  rename_checkpoints(run);
  const fs::path renamed = run / "checkpoints/my-step=4";
  check_refused(run, "run/lost-checkpoints",
                {"checkpoints/my-step=2: a complete checkpoint of step 2",
                 "checkpoints/my-step=4: a complete checkpoint of step 4",
                 "mv '" + renamed.string() + "' '" + (run / "checkpoints/step=4").string() + "'",
                 "exp_manager.resume_from_checkpoint: " + renamed.string()});
  fs::remove(run / "checkpoints/last");  // a missing pointer hides nothing
  check_refused(run, "run/lost-checkpoints", {"checkpoints/my-step=4: a complete checkpoint"});
  check_resumed(train_again(run, {"exp_manager.resume_from_checkpoint=" +
                                  (run / "checkpoints/my-step=4").string()}),
                (run / "checkpoints/my-step=4").string());
}

TEST_CASE("a renamed folder of checkpoints is found") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  fs::rename(run / "checkpoints", run / "checkpoints.old");
  check_refused(run, "run/lost-checkpoints",
                {"checkpoints.old/step=4: a complete checkpoint of step 4"});
  fs::create_directory_symlink("on-another-disk", run / "checkpoints");
  check_refused(run, "run/lost-checkpoints",
                {"checkpoints: a link to on-another-disk, which does not exist"});
  fs::remove(run / "checkpoints");
  write_text(run / "checkpoints", "");
  check_refused(run, "run/lost-checkpoints", {"checkpoints: a file"});
  fs::remove(run / "checkpoints");
  fs::create_directory(run / "checkpoints");
  fs::rename(run / "checkpoints.old", run / "checkpoints/old");
  check_refused(run, "run/lost-checkpoints", {"checkpoints/old/step=2: a complete checkpoint"});
}

TEST_CASE("links to checkpoints that are gone are no reason to begin anew") {
  for (const char* const name : {"last", "best", "tiny--val_loss=1.00"}) {
    const TemporaryFolder folder;
    const fs::path run = copy_of_run(folder);
    fs::remove_all(run / "checkpoints");
    fs::create_directory(run / "checkpoints");
    fs::create_directory_symlink("step=4", run / "checkpoints" / name);
    check_refused(
        run, "run/lost-checkpoints",
        {std::string("checkpoints/") + name + ": a link to step=4, which does not exist"});
  }
}

TEST_CASE("a pointer without checkpoints is refused") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  fs::remove_all(run / "checkpoints");
  fs::create_directory(run / "checkpoints");
  write_text(run / "checkpoints/last", "");
  check_refused(run, "run/lost-checkpoints", {"checkpoints/last: a file that is no link"});
}

TEST_CASE("checkpoints that are links, or on their way out, are found") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  fs::remove_all(run / "checkpoints/step=2");
  fs::rename(run / "checkpoints/step=4", folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", run / "checkpoints/step=4");
  check_refused(run, "run/lost-checkpoints", {"checkpoints/step=4: a complete checkpoint"});
  fs::remove(run / "checkpoints/step=4");
  fs::remove(run / "checkpoints/last");
  fs::rename(folder.path() / "elsewhere", run / "checkpoints/.step=4.removed.partial");
  check_refused(run, "run/lost-checkpoints",
                {"checkpoints/.step=4.removed.partial: a complete checkpoint of step 4"});
  CHECK(fs::exists(run / "checkpoints/.step=4.removed.partial/state.json"));
}

TEST_CASE("incomplete checkpoints only are refused; the rest of a first save is not") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  for (const char* const name : {"step=2", "step=4"}) {
    fs::remove(run / "checkpoints" / name / "model.safetensors");
  }
  check_refused(run, "checkpoint/damaged", {"step=4"});
  fs::remove(run / "checkpoints/last");
  rename_checkpoints(run);
  check_refused(run, "run/lost-checkpoints",
                {"checkpoints/my-step=2: an incomplete checkpoint", "checkpoints/my-step=4: an inc",
                 "expected: a complete checkpoint checkpoints/step=N"});
  fs::remove_all(run / "checkpoints/my-step=2");
  fs::rename(run / "checkpoints/my-step=4", run / "checkpoints/.step=4.partial");
  const Outcome outcome = train_again(run);  // killed in its first save: there is nothing to lose
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(!contains(outcome.output, "resumed from"));
}

TEST_CASE("another run that begins from a run without its pointer is told its checkpoints") {
  const TemporaryFolder folder;
  const fs::path run = copy_of_run(folder);
  const Words from = {"exp_manager.resume_from_checkpoint=" + run.string()};
  const auto check = [&](const std::string& what) {
    const Outcome outcome = train_again(folder.path() / "other", from);
    CHECK_MESSAGE(outcome.exit_code == 5, outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "error: [checkpoint/missing]"), outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "last is " + what), outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "step=2, step=4; name one"), outcome.output);
  };
  fs::remove(run / "checkpoints/last");
  check("missing");
  write_text(run / "checkpoints/last", "");
  check("no link to a checkpoint");
  fs::remove(run / "checkpoints/last");
  fs::create_directory_symlink("step=6", run / "checkpoints/last");
  check("a link to step=6, which does not exist");
}
