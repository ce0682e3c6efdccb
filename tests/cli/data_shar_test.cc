#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kSet = s2s::test::source_dir() + "/tests/reference/data/lhotse_shar/shar";

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
  CHECK(has(again, "[data/shar-out] '" + out + "' already exists; nothing was written"));
  const auto anew = run_cli("data shar " + kSet + " " + out + " --shard-size 10 --force");
  CHECK_MESSAGE(anew.exit_code == 0, anew.output);
  CHECK(has(anew, "in 1 shard\n"));
  CHECK_FALSE(fs::exists(out + "/recording.000002.tar"));
  const auto itself = run_cli("data shar " + out + " " + out + " --force");
  CHECK(itself.exit_code == 5);
  CHECK(has(itself, "is the source, and --force would remove it"));
  CHECK(fs::exists(out + "/recording.000000.tar"));
  CHECK_FALSE(has(made, "[data/shar-field]"));
  const auto slip =
      run_cli("data shar " + kSet + " " + out + "3 --fields recording=flac,target_audo=flac");
  CHECK(slip.exit_code == 0);
  CHECK(has(slip, "[data/shar-field] no cut has the field 'target_audo'"));
  for (const char* fields :
       {"recording=flac target_audio=flac", "recording=flac --fields target_audio=flac"}) {
    const std::string target = out + std::to_string(std::string(fields).size());
    CHECK(run_cli("data shar " + kSet + " " + target + " --fields " + fields).exit_code == 0);
    CHECK(fs::exists(target + "/target_audio.000000.tar"));
  }
  const auto other = run_cli("data shar " + out + " " + out + "2 --shuffle --seed 3 --json");
  CHECK(other.exit_code == 0);
  CHECK(nlohmann::json::parse(other.output.substr(other.output.find('{')))["cuts"] == 10);
}

TEST_CASE("data shar begins again where a killed one has not finished its first file") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  fs::create_directory(out);
  const std::string piece = out + "/..s2s-shar.json.s2s-a1b2c3";
  std::ofstream(piece) << "{";
  const auto made = run_cli("data shar " + kSet + " " + out + " --shard-size 4");
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK_FALSE(fs::exists(piece));
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

TEST_CASE("data shar takes NeMo's manifests and input_cfg") {
  const TemporaryFolder folder;
  const std::string nemo = s2s::test::source_dir() + "/tests/reference/data/nemo_loader";
  std::ofstream(folder / "input.yaml") << "- type: nemo_tarred\n"
                                          "  manifest_filepath: "
                                       << nemo << "/tarred/manifest_{0..3}.json\n"
                                       << "  tarred_audio_filepaths: " << nemo
                                       << "/tarred/audio_{0..3}.tar\n"
                                          "- {type: nemo, manifest_filepath: "
                                       << nemo << "/plain.json}\n";
  const std::string command =
      "data shar " + (folder / "input.yaml") + " " + (folder / "out") + " --shard-size 4 --json";
  const auto summary = [](const CommandResult& result) {
    REQUIRE_MESSAGE(result.exit_code == 0, result.output);
    return nlohmann::json::parse(result.output.substr(result.output.find('{')));
  };
  const auto whole = summary(run_cli(command));
  CHECK(whole["cuts"] > 16);
  const auto plain =
      summary(run_cli("data shar " + nemo + "/plain.json " + (folder / "plain") + " --json"));
  CHECK(plain["cuts"] > 10);
}

TEST_CASE("data shar leaves out what damaged files of the source lack, as far as it may") {
  const TemporaryFolder folder;
  const std::string from = folder / "from";
  fs::create_directories(from);
  for (const auto& entry : fs::directory_iterator(kSet)) {
    fs::copy_file(entry.path(), fs::path(from) / entry.path().filename());
  }
  const std::string tar = from + "/recording.000000.tar";
  fs::resize_file(tar, fs::file_size(tar) / 2);
  const std::string command = "data shar " + from + " " + (folder / "out") + " --shard-size 4";
  const auto strict = run_cli(command);
  CHECK(strict.exit_code == 5);
  CHECK(has(strict, "[data/tar] " + tar + ": byte "));
  const auto lenient = run_cli(command + " --skip-bad 9 --json");
  REQUIRE_MESSAGE(lenient.exit_code == 0, lenient.output);
  CHECK(has(lenient, "skipped: [data/tar] " + from + "/cuts.000000.jsonl"));
  const auto summary = nlohmann::json::parse(lenient.output.substr(lenient.output.find("{\"")));
  CHECK(summary["cuts"] > 0);
  CHECK(summary["cuts"].get<int>() + summary["skipped"].get<int>() == 10);
}
