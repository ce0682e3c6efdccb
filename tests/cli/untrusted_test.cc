// --untrusted: no plugin of another place, and the same answers as without. Commands are in
// data_commands_test.cc.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kData = source_dir() + "/tests/reference/data/";

}  // namespace

TEST_CASE("with --untrusted no plugin of another place is loaded") {
  const TemporaryFolder folder;
  const std::string config = source_dir() + "/configs/tiny.yaml ";
  const std::string plugins = binary_dir() + "/tests/fixtures/plugins/writes_file";
  const std::string mark = folder / "ran";
  for (const auto& [words, environment] : std::vector<std::pair<std::string, std::string>>{
           {"--untrusted --plugin-path " + plugins + " config check " + config, ""},
           {"config check " + config, "S2S_UNTRUSTED=1 S2S_PLUGIN_PATH=" + plugins},
           {"config check --untrusted " + config + " plugins.paths=[" + plugins + "]", ""},
           {"config check " + config + " plugins.load=[" + plugins +
                "/libs2s_metric_fixture_writes_file.so]",
            "S2S_UNTRUSTED=yes"}}) {
    CAPTURE(words);
    const CommandResult result = run_cli(words, environment + " S2S_FIXTURE_FILE=" + mark);
    CAPTURE(result.output);
    CHECK(result.exit_code != 0);
    CHECK(has(result, "[untrusted/refused] --untrusted excludes plugins beside the program's own"));
    CHECK_FALSE(fs::exists(mark));
  }
}

TEST_CASE("with --untrusted, commands print what they print without") {
  const TemporaryFolder folder;
  const std::string text = folder / "text";
  REQUIRE(run_cli("data synth --text --tiny " + text).exit_code == 0);
  REQUIRE(run_cli("data synth --tiny " + (folder / "set")).exit_code == 0);
  REQUIRE(run_shell("cd " + (folder / "set") + " && gzip -k *.jsonl").exit_code == 0);
  const std::string run_config = source_dir() + "/configs/text.yaml text.data=" + text;
  for (const std::string& words : std::vector<std::string>{
           "config show " + source_dir() + "/configs/tiny.yaml",
           "checkpoint inspect " + kData + "archive.nemo",
           "checkpoint verify " + kData + "torch_state.bin",
           "data inspect " + run_config + " data.synth.size=tiny",
           "data inspect " + (folder / "set") + "/train.jsonl.gz",
           "checkpoint inspect " + folder.write("bad.nemo", std::string("\x1f\x8b") + "bad"),
           "config check " + folder.write("bad.yaml", "a: [1\nb: 2\n")}) {
    CAPTURE(words);
    const CommandResult plain = run_cli(words);
    const CommandResult untrusted = run_cli("--untrusted " + words);
    CHECK(untrusted.exit_code == plain.exit_code);
    CHECK(untrusted.output == plain.output);
  }
}
