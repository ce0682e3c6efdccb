#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;

TEST_CASE("data synth --tiny makes a set, and finds it the second time") {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "set").string();
  const CommandResult made = run_cli("data synth " + out + " --tiny --workers 2");
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK(made.output.find("made " + out) != std::string::npos);
  CHECK(fs::exists(out + "/train.jsonl"));
  const CommandResult again = run_cli("data synth " + out + " --tiny --json");
  CHECK(again.exit_code == 0);
  CHECK(nlohmann::json::parse(again.output)["reused"] == true);
  const CommandResult other = run_cli("data synth " + out + " --tiny --seed 7");
  CHECK(other.exit_code == 5);
  CHECK(other.output.find("[synth/other-set]") != std::string::npos);
}

TEST_CASE("data synth refuses wrong arguments with one message and exit code 2") {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "set").string();
  const std::vector<std::string> mistakes = {"",
                                             out + " --format mp3",
                                             out + " --quick --tiny",
                                             out + " --workers -1",
                                             out + " --seed x",
                                             out + " --sample-rate 16001",
                                             out + " --domains wether"};
  for (const std::string& wrong : mistakes) {
    const CommandResult result = run_cli("data synth " + wrong);
    CHECK_MESSAGE(result.exit_code == 2, wrong << ": " << result.output);
    CHECK(!result.output.empty());
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("^C while data is made exits with 8 and leaves nothing") {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "set").string();
  const CommandResult result =
      run_cli("data synth " + out, "exec timeout --foreground --preserve-status -s INT 3");
  CHECK(result.exit_code == 8);
  CHECK(result.output.find("[synth/stopped]") != std::string::npos);
  CHECK(fs::is_empty(folder.path()));
}
