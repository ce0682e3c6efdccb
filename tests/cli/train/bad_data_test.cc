// Data that cannot be trained on: one message with id, place, value, expectation and next step,
// exit code 5, and what the run folder held before is still there.

#include <doctest/doctest.h>

#include <functional>
#include <sstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Three cuts of the set in a folder of its own, with absolute paths to the audio.
class BadSet {
 public:
  BadSet() {
    std::istringstream in(read_text(tiny_set() / "train.jsonl"));
    std::string line;
    while (cuts_.size() < 3 && std::getline(in, line)) cuts_.push_back(json::parse(line));
    for (json& cut : cuts_) {
      for (json* recording : {&cut["recording"], &cut["custom"]["target_audio"]}) {
        std::string& source = (*recording)["sources"][0]["source"].get_ref<std::string&>();
        source = (tiny_set() / source).string();
      }
    }
  }

  json& cut(size_t i) { return cuts_[i]; }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::string user_audio(size_t i) const { return cuts_[i]["recording"]["sources"][0]["source"]; }
  void set_user_audio(size_t i, const fs::path& file) {
    cuts_[i]["recording"]["sources"][0]["source"] = file.string();
  }

  /// Writes the manifest; `text` replaces the second line when it is not empty.
  void write(const std::string& text = "") const {
    std::string lines;
    for (size_t i = 0; i < cuts_.size(); ++i) {
      lines += (i == 1 && !text.empty() ? text : cuts_[i].dump()) + "\n";
    }
    write_text(path("bad.jsonl"), lines);
  }

  /// Trains into `run`.
  Outcome train(const fs::path& run, const Words& more = {}) const {
    Words words = tiny_words("train", run, eventful_options());
    words.push_back("data.train_ds.cuts_path=" + path("bad.jsonl").string());
    words.insert(words.end(), more.begin(), more.end());
    return run_s2s(words);
  }

 private:
  TemporaryFolder folder_;
  std::vector<json> cuts_;
};

/// Trains on the set in a folder that holds a run, and checks the message and that nothing is lost.
void check_refused(const BadSet& set, int exit_code, const Words& parts, const Words& more = {}) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const auto before = contents(run);
  const Outcome outcome = set.train(run, more);
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == exit_code);
  for (const std::string& part : parts) CHECK_MESSAGE(contains(outcome.output, part), part);
  const size_t first = outcome.output.find("error: [");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.output.find("error: [", first + 1) == std::string::npos);  // one message
  // A configuration is refused before the run's folder is opened.
  if (exit_code == 5) CHECK(contains(read_text(run / "log.txt"), "ended by an error: ["));
  CHECK(contents(run) == before);
}

}  // namespace

TEST_CASE("audio that is missing") {
  BadSet set;
  set.set_user_audio(1, set.path("none.wav"));
  set.write();
  check_refused(set, 5,
                {"[data/missing-file]", "bad.jsonl:2: cut 'train-000000b'",
                 set.path("none.wav").string(), "expected", "fix 'source'"});
}

TEST_CASE("bad cuts are left out as far as skip_bad allows, and listed at the end") {
  BadSet set;
  write_text(set.path("torn.wav"), "RIFF");
  set.set_user_audio(1, set.path("torn.wav"));
  set.write();
  const TemporaryFolder folder;
  const Outcome one = set.train(folder.path() / "one", {"data.train_ds.skip_bad=1"});
  CHECK_MESSAGE(one.exit_code == 0, one.output);
  CHECK(contains(one.output, "skipped bad cut 1 of at most 1: [data/unreadable-audio]"));
  CHECK(contains(one.output, "skipped bad cuts: 1\n  [data/unreadable-audio]"));
  for (const auto& line : metrics(folder.path() / "one")) {
    if (line["step"] == kEventfulSteps && line.contains("loss")) CHECK(line["left_out_cuts"] == 1);
  }
  set.set_user_audio(2, set.path("none.wav"));
  set.write();
  const Outcome two = set.train(folder.path() / "two", {"data.train_ds.skip_bad=1"});
  CHECK(two.exit_code == 5);
  CHECK(contains(two.output, "[data/too-many-bad]"));
  CHECK(contains(two.output, "torn.wav"));
  CHECK(contains(two.output, "none.wav"));
}

TEST_CASE("a manifest that is missing") {
  BadSet set;
  check_refused(set, 5, {"[data/missing-file]", set.path("bad.jsonl").string(), "cuts_path"});
}

TEST_CASE("a line that is not JSON") {
  BadSet set;
  set.write(R"({"id": "x", )");
  check_refused(set, 5, {"[data/json]", "bad.jsonl:2: ", "column", "fix or remove the line"});
}

TEST_CASE("all lines with mistakes are in one message") {
  BadSet set;
  set.cut(0).erase("recording");
  set.cut(2)["custom"].erase("target_audio");
  set.write();
  check_refused(
      set, 5,
      {"2 findings", "[data/no-recording] ", "bad.jsonl:1", "[data/no-target] ", "bad.jsonl:3"});
}

TEST_CASE("a cut without turns") {
  BadSet set;
  set.cut(1)["supervisions"] = json::array();
  set.write();
  check_refused(set, 5,
                {"[data/no-turns]", "bad.jsonl:2: cut 'train-000000b'", "allow_no_turns: true"});
}

TEST_CASE("a sample rate of 0 in the manifest") {
  BadSet set;
  set.cut(2)["recording"]["sampling_rate"] = 0;
  set.write();
  check_refused(set, 5, {"[data/sample-rate]", "bad.jsonl:3", "sampling_rate 0", "expected"});
}

TEST_CASE("a sample rate of 0 in the configuration") {
  BadSet set;
  set.write();
  check_refused(set, 3, {"[config/bounds] data.source_sample_rate", "from 1 to 768000, got 0"},
                {"data.source_sample_rate=0"});
}

TEST_CASE("another sample rate than the file's") {
  BadSet set;
  set.cut(0)["recording"]["sampling_rate"] = 8000;
  set.write();
  Words more = {"exp_manager.resume_if_exists=true", "data.train_ds.allow_changed_data=true"};
  const TemporaryFolder folder;
  const Outcome outcome = set.train(folder.path() / "run", more);
  CHECK(outcome.exit_code == 5);
  CHECK_MESSAGE(contains(outcome.output, "[data/sample-rate]"), outcome.output);
  CHECK(contains(outcome.output, "has 16000 Hz, but the manifest says 8000 Hz"));
}

TEST_CASE("audio that cannot be read, and a cut longer than its audio, while a run goes on") {
  struct Case {
    std::function<void(BadSet&)> spoil;
    Words parts;
  };
  const std::vector<Case> cases = {
      {[](BadSet& set) {
         write_text(set.path("user.wav"), "RIFF and nothing else");
         set.set_user_audio(1, set.path("user.wav"));
       },
       {"[data/unreadable-audio]", "bad.jsonl:2: cut 'train-000000b'", "user.wav"}},
      {[](BadSet& set) {
         const std::string audio = read_text(set.user_audio(1));
         write_text(set.path("user.wav"), audio.substr(0, audio.size() / 2));
         set.set_user_audio(1, set.path("user.wav"));
       },
       {"[data/unreadable-audio]", "bad.jsonl:2: cut 'train-000000b'", "it is cut off: of",
        "expected"}},
      {[](BadSet& set) { set.cut(1)["duration"] = 7.5; },
       {"[data/cut-too-long]", "bad.jsonl:2: cut 'train-000000b'", "7.500 s", "expected"}},
  };
  for (const Case& bad : cases) {
    BadSet set;
    bad.spoil(set);
    set.write();
    const TemporaryFolder folder;
    const fs::path run = folder.path() / "run";
    // The first two batches are good; the checkpoint of the first step has to survive.
    const Outcome outcome =
        set.train(run, {"data.train_ds.batch_size=1", "data.train_ds.shuffle=false",
                        "trainer.codec_fit_batches=1",
                        "exp_manager.checkpoint_callback_params.every_n_train_steps=1"});
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 5);
    for (const std::string& part : bad.parts) CHECK_MESSAGE(contains(outcome.output, part), part);
    CHECK_FALSE(contains(outcome.output, "[internal]"));
    CHECK(num_steps_logged(run) == 1);
    CHECK(fs::read_symlink(run / "checkpoints/last") == "step=1");
  }
}

TEST_CASE("text longer than its turn is placed as NeMo does, with a warning that says where") {
  BadSet set;
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 2 == 0 ? "the " : "lamp ";
  set.cut(1)["supervisions"][1]["text"] = text;
  set.write();
  const TemporaryFolder folder;
  const Outcome outcome = set.train(folder.path() / "run", {"trainer.max_steps=4"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "warning: [data/long-text] data.train_ds: 1 of 3 agent turns"));
  CHECK(contains(outcome.output, "bad.jsonl:2: cut 'train-000000b'"));
  const size_t first = outcome.output.find("[data/long-text]");
  CHECK(outcome.output.find("[data/long-text]", first + 1) == std::string::npos);  // said once

  const Outcome dropped =
      set.train(folder.path() / "dropped", {"trainer.max_steps=4", "data.long_text=drop"});
  CHECK_MESSAGE(dropped.exit_code == 0, dropped.output);
  CHECK(contains(dropped.output, "tokens are dropped; expected"));
  const Outcome refused =
      set.train(folder.path() / "refused", {"trainer.max_steps=4", "data.long_text=error"});
  CHECK_MESSAGE(refused.exit_code == 5, refused.output);
  CHECK(contains(refused.output, "error: [data/long-text] data.train_ds: 1 of 3 agent turns"));
  CHECK(num_steps_logged(folder.path() / "refused") == 0);
}

TEST_CASE("other data than the checkpoint's is refused, and accepted when that is asked for") {
  BadSet set;
  set.write();
  check_refused(set, 5, {"[data/state]", "data.train_ds", "allow_changed_data: true"});
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const Outcome outcome = set.train(run, {"data.train_ds.allow_changed_data=true"});
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(num_steps_logged(run) == kEventfulSteps);
}
