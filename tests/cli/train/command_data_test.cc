// Training on data that hold shell commands: refused, allowed, stopped with ^C.

#include <doctest/doctest.h>
#include <signal.h>

#include <functional>
#include <sstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Writes the tiny set's cuts; `change` sees every recording's source and the path of its audio.
void write_cuts(const fs::path& file,
                const std::function<void(json& source, const std::string& audio)>& change) {
  std::istringstream in(read_text(tiny_set() / "train.jsonl"));
  std::string text;
  for (std::string line; std::getline(in, line);) {
    json cut = json::parse(line);
    for (json* recording : {&cut["recording"], &cut["custom"]["target_audio"]}) {
      json& source = (*recording)["sources"][0];
      change(source, (tiny_set() / source["source"].get<std::string>()).string());
    }
    text += cut.dump() + "\n";
  }
  write_text(file, text);
}

/// Cuts whose audio comes out of commands, each with a line in the file `mark` when it runs.
void write_command_cuts(const fs::path& file, const fs::path& mark, const std::string& pause = "") {
  write_cuts(file, [&](json& source, const std::string& audio) {
    source["type"] = "command";
    source["source"] = "echo >> " + mark.string() + "; " + pause + "cat " + audio;
  });
}

Words options(const std::string& cuts_path) {
  return {"trainer.max_steps=4", "data.train_ds.cuts_path=" + cuts_path};
}

Outcome train(const fs::path& run, Words words, const Words& more = {},
              const std::map<std::string, std::string>& environment = {}) {
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(tiny_words("train", run, words), environment);
}

}  // namespace

TEST_CASE("a command in a cut is refused, and runs when the user allows it") {
  const TemporaryFolder folder;
  const fs::path cuts = folder.path() / "cuts.jsonl", mark = folder.path() / "ran";
  write_command_cuts(cuts, mark);
  const Outcome refused = train(folder.path() / "refused", options(cuts.string()));
  CHECK_MESSAGE(refused.exit_code == 5, refused.output);
  CHECK_MESSAGE(contains(refused.output, "error: [data/command-refused] " + cuts.string() + ":"),
                refused.output);
  CHECK(contains(refused.output, "data.allow_commands=true"));
  CHECK(!fs::exists(mark));

  const Outcome allowed =
      train(folder.path() / "allowed", options(cuts.string()), {"data.allow_commands=true"});
  CHECK_MESSAGE(allowed.exit_code == 0, allowed.output);
  CHECK(fs::exists(mark));
  fs::remove(mark);
  const Outcome variable =
      train(folder.path() / "variable", options(cuts.string()), {}, {{"S2S_ALLOW_COMMANDS", "1"}});
  CHECK_MESSAGE(variable.exit_code == 0, variable.output);
  CHECK(fs::exists(mark));
}

TEST_CASE("a pipe of the configuration runs; one of a file that it names is refused") {
  const TemporaryFolder folder;
  const fs::path cuts = folder.path() / "cuts.jsonl", mark = folder.path() / "ran";
  write_cuts(cuts, [](json& source, const std::string& audio) { source["source"] = audio; });
  const std::string pipe = "pipe:touch " + mark.string() + "; cat " + cuts.string();
  Words typed = options("'" + pipe + "'");
  const Outcome trained = train(folder.path() / "typed", typed);
  CHECK_MESSAGE(trained.exit_code == 0, trained.output);
  CHECK(fs::exists(mark));
  fs::remove(mark);

  const fs::path list = folder.path() / "list.yaml";
  write_text(list, "- type: lhotse\n  cuts_path: '" + pipe + "'\n");
  const Words named = {"trainer.max_steps=4", "data.train_ds.cuts_path=null",
                       "data.train_ds.input_cfg=" + list.string()};
  const Outcome refused = train(folder.path() / "named", named);
  CHECK_MESSAGE(refused.exit_code == 5, refused.output);
  CHECK_MESSAGE(contains(refused.output, "[data/command-refused]"), refused.output);
  CHECK_MESSAGE(contains(refused.output, list.string()), refused.output);
  CHECK(!fs::exists(mark));
}

TEST_CASE("^C in the terminal does not end the commands of the data: the run stops in order") {
  const TemporaryFolder folder;
  const fs::path cuts = folder.path() / "cuts.jsonl", run = folder.path() / "run";
  // Some command is always running.
  write_command_cuts(cuts, folder.path() / "ran", "sleep 0.05; ");
  Words words = {"trainer.max_steps=100000", "data.train_ds.cuts_path=" + cuts.string(),
                 "data.allow_commands=true"};
  Process process(tiny_words("train", run, words));
  REQUIRE(wait_until(process, [&] { return num_steps_logged(run) >= 3; }));
  process.send_to_group(SIGINT);
  const Outcome outcome = process.wait();
  CHECK_MESSAGE(outcome.exit_code == 8, outcome.output);
  REQUIRE_MESSAGE(fs::exists(run / "checkpoints/last"), outcome.output);
  const std::string last = fs::read_symlink(run / "checkpoints/last").string();
  CHECK(last == "step=" + std::to_string(num_steps_logged(run)));
}
