// Commands in data that somebody looks at or converts.

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/plugin/fixtures.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

/// Audio, and a file that is there once a command has run.
struct Audio {
  Audio() {
    write_audio(dir / "u.wav", 16000, ramp(64000));
    write_audio(dir / "a.wav", 22050, ramp(88200));
  }
  std::string command(const std::string& name) const {
    return "touch " + mark() + "; cat " + (dir / name);
  }
  std::string mark() const { return dir / "ran"; }
  /// Whether a command has run since the last time.
  bool ran() const { return std::filesystem::remove(mark()); }
  json cut(const std::string& id) const { return cut_json(id, 4, dir / "u.wav", dir / "a.wav"); }

  TemporaryFolder dir;
};

void check_refused(const CommandResult& result, const Audio& audio) {
  INFO(result.output);
  CHECK(result.exit_code == 5);
  CHECK(has(result, "error: [data/command-refused]"));
  CHECK(has(result, "--allow-commands"));
  CHECK_FALSE(audio.ran());
}

void check_ran(const CommandResult& result, const Audio& audio) {
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(audio.ran());
}

}  // namespace

TEST_CASE("data inspect counts cuts with commands and runs none, unless it may") {
  const Audio audio;
  json command = audio.cut("d0"), pipe = audio.cut("d1");
  command["recording"]["sources"][0]["type"] = "command";
  command["recording"]["sources"][0]["source"] = audio.command("u.wav");
  pipe["custom"]["target_audio"]["sources"][0]["source"] = "pipe:" + audio.command("a.wav");
  const std::string cuts = audio.dir / "cuts.jsonl";
  write_text(cuts, command.dump() + "\n" + pipe.dump() + "\n" + audio.cut("d2").dump() + "\n");
  const CommandResult refused = run_cli("data inspect " + cuts);
  INFO(refused.output);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused, "0 unreadable, 0 silent"));
  CHECK(has(refused, "2 are commands and were not run"));
  CHECK(has(refused, "[data/command-refused]"));
  CHECK_FALSE(audio.ran());
  check_ran(run_cli("data inspect --allow-commands " + cuts), audio);
  check_ran(run_cli("data inspect " + cuts, "S2S_ALLOW_COMMANDS=1"), audio);
}

TEST_CASE("a NeMo line with a command does not run it") {
  const Audio audio;
  const std::string manifest = audio.dir / "nemo.json";
  const json line = {{"audio_filepath", "pipe:" + audio.command("u.wav")},
                     {"duration", 2},
                     {"offset", 1},
                     {"sampling_rate", 16000},
                     {"text", "x"}};
  write_text(manifest, line.dump() + "\n");
  const CommandResult refused = run_cli("data inspect " + manifest);
  INFO(refused.output);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused, "1 are commands and were not run"));
  CHECK_FALSE(audio.ran());
}

TEST_CASE("a list of sources may not run commands; a command line may") {
  const Audio audio;
  const std::string cuts = audio.dir / "cuts.jsonl", list = audio.dir / "list.yaml";
  write_text(cuts, audio.cut("d0").dump() + "\n" + audio.cut("d1").dump() + "\n");
  const std::string pipe = "pipe:touch " + audio.mark() + "; cat " + cuts;
  write_text(list, "- type: lhotse_shar\n  shar_path: {cuts: [\"" + pipe + "\"]}\n");
  check_refused(run_cli("data inspect " + list), audio);
  check_refused(run_cli("data estimate-bins -b 2 " + list), audio);
  check_refused(run_cli("data shar " + list + " " + (audio.dir / "shar")), audio);
  check_refused(run_cli("data convert " + list + " " + (audio.dir / "out.jsonl")), audio);
  check_ran(run_cli("data inspect --no-audio --allow-commands " + list), audio);
  check_ran(run_cli("data shar '" + pipe + "' " + (audio.dir / "typed")), audio);
  check_ran(run_cli("data estimate-bins -b 2 'cuts_path=" + pipe + "'"), audio);
}

TEST_CASE("a Kaldi directory's commands are refused, and converted when they are allowed") {
  const Audio audio;
  std::filesystem::create_directory(audio.dir / "kaldi");
  write_text(audio.dir / "kaldi/wav.scp", "u1 " + audio.command("u.wav") + " |\n");
  write_text(audio.dir / "kaldi/text", "u1 x\n");
  const std::string words =
      "data convert --from kaldi " + (audio.dir / "kaldi") + " " + (audio.dir / "out.jsonl");
  check_refused(run_cli(words), audio);
  check_ran(run_cli(words + " --allow-commands"), audio);
}

TEST_CASE("with --untrusted no command runs, whoever allows it") {
  const Audio audio;
  json command = audio.cut("d0");
  command["recording"]["sources"][0]["type"] = "command";
  command["recording"]["sources"][0]["source"] = audio.command("u.wav");
  const std::string cuts = audio.dir / "cuts.jsonl", out = audio.dir / "shar";
  write_text(cuts, command.dump() + "\n");
  const std::string typed = "data shar 'pipe:touch " + audio.mark() + "; cat " + cuts + "' " + out;
  for (const std::string& words :
       {"data inspect --allow-commands " + cuts, "data shar --allow-commands " + cuts + " " + out,
        typed + " --allow-commands"}) {
    for (const char* const variable : {"S2S_UNTRUSTED=1", "S2S_UNTRUSTED=yes"}) {
      const CommandResult result = run_cli(words, std::string("S2S_ALLOW_COMMANDS=1 ") + variable);
      INFO(words, "\n", result.output);
      CHECK(result.exit_code != 0);
      CHECK(has(result, "[data/command-refused]"));
      CHECK(has(result, "is not run with --untrusted, whoever allows it"));
      CHECK_FALSE(audio.ran());
    }
  }
  CHECK_FALSE(run_cli("--untrusted " + typed).exit_code == 0);
  CHECK_FALSE(audio.ran());
}
