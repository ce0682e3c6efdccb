#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kSet = S2S_SOURCE_DIR "/tests/reference/data/lhotse_shar/shar";

}  // namespace

TEST_CASE("data shar writes a set, and refuses to write over it") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  const auto made = run_cli("data shar " + kSet + " " + out + " --shard-size 4 --num-jobs 2");
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK(has(made, "wrote " + out + ": 10 cuts"));
  CHECK(fs::exists(out + "/recording.000002.tar"));
  const auto again = run_cli("data shar " + kSet + " " + out);
  CHECK(again.exit_code == 5);
  CHECK(has(again, "[data/shar-out]"));
  const auto other = run_cli("data shar " + out + " " + out + "2 --shuffle --seed 3 --json");
  CHECK(other.exit_code == 0);
  CHECK(nlohmann::json::parse(other.output.substr(other.output.find('{')))["cuts"] == 10);
}

TEST_CASE("data shar: wrong words are exit code 2, wrong data 5, one message each") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  for (const std::string wrong : {"", "a.jsonl", "a b --shard-size -1", "a b --num-jobs x",
                                  "a b --what", "a b --skip-bad 1.5"}) {
    const auto result = run_cli("data shar " + wrong);
    CHECK_MESSAGE(result.exit_code == 2, wrong << ": " << result.output);
  }
  const auto missing = run_cli("data shar " + (folder / "none.jsonl") + " " + out);
  CHECK(missing.exit_code == 5);
  CHECK(has(missing, "[data/missing-file]"));
  const auto format = run_cli("data shar " + kSet + " " + out + " --fields recording=flak");
  CHECK(format.exit_code == 5);
  CHECK(has(format, "[data/shar-format] the field 'recording' has the format 'flak'"));
  const auto pipe = run_cli("data shar 'pipe:exit 3' " + out);
  CHECK(pipe.exit_code == 5);
  CHECK(has(pipe, "[data/pipe]"));
  CHECK(has(pipe, "exit status 3"));
  CHECK(fs::is_empty(folder.path()));
}
