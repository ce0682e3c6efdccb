#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

std::string in(const TemporaryFolder& dir) { return dir.path().string() + "/"; }

void write_pairs(const TemporaryFolder& dir, int count) {
  std::filesystem::create_directories(dir / "set");
  for (int i = 0; i < count; ++i) {
    const std::string stem = dir / ("set/" + std::to_string(i));
    write_audio(stem + "_user.wav", 16000, ramp(16000));
    write_audio(stem + "_agent.wav", 22050, ramp(22050));
    write_text(stem + "_user.txt", "0.1\t0.4\thi there\n");
    write_text(stem + "_agent.txt", "0.5\t0.9\thello you\n");
  }
}

size_t num_lines(const std::string& path) {
  std::ifstream file(path);
  return static_cast<size_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

}  // namespace

TEST_CASE("data convert makes cuts that data inspect has nothing to say against") {
  const TemporaryFolder dir;
  write_pairs(dir, 3);
  const auto out = run_cli("data convert " + in(dir) + "set " + in(dir) + "cuts.jsonl.gz --json");
  INFO(out.output);
  CHECK(out.exit_code == 0);
  const json summary = json::parse(out.output.substr(out.output.find('{')));
  CHECK(summary["from"] == "wav-pairs");
  CHECK(summary["cuts"] == 3);
  CHECK(summary["finished"] == true);
  const auto inspected = run_cli("data inspect " + in(dir) + "cuts.jsonl.gz");
  CHECK_MESSAGE(inspected.exit_code == 0, inspected.output);
  CHECK(has(inspected, "3 cuts"));
  const auto again = run_cli("data convert " + in(dir) + "set " + in(dir) + "cuts.jsonl.gz");
  CHECK(again.exit_code == 5);
  CHECK(has(again, "[data/convert-exists]"));
}

TEST_CASE("data convert takes away what killed conversions have left") {
  const TemporaryFolder dir;
  write_pairs(dir, 1);
  const std::string piece = in(dir) + ".cuts.jsonl.part.json.s2s-a1b2c3";
  write_text(piece, "{");
  const std::string command = "data convert " + in(dir) + "set " + in(dir) + "cuts.jsonl";
  CHECK(run_cli(command).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(piece));
  // Killed when the result had its name, and its state was still there.
  const std::string state = in(dir) + "cuts.jsonl.part.json";
  write_text(state, "{}");
  CHECK(run_cli(command).exit_code == 5);
  CHECK_FALSE(std::filesystem::exists(state));
}

TEST_CASE("data convert says what is wrong with its words and its source") {
  const TemporaryFolder dir;
  write_pairs(dir, 1);
  const auto check = [&](const std::string& words, int code, const char* part) {
    const auto out = run_cli("data convert " + words);
    CHECK_MESSAGE(out.exit_code == code, out.output);
    CHECK_MESSAGE(has(out, part), out.output);
  };
  const std::string set = in(dir) + "set ";
  const std::string result = in(dir) + "x.jsonl ";
  check("", 2, "[usage/arguments]");
  check(set + result + "--from tape", 2, "tape");
  check(set + result + "--user-suffix -A", 2, "--agent-suffix");
  check(set + result + "--pause -1", 2, "--pause");
  check(set + result + "--skip-bad some", 2, "--skip-bad");
  check(set + in(dir) + "x.json", 5, "[data/convert-result]");
  check(in(dir) + "gone " + result, 5, "[data/missing-file]");
  std::filesystem::create_directories(dir / "none");
  check(in(dir) + "none " + result, 5, "[data/convert-source]");
  check(set + result + "--from kaldi", 5, "wav.scp");
  write_text(dir / "set/0_user.wav", "x");
  check(set + result, 5, "[data/unreadable-audio]");
  CHECK_FALSE(std::filesystem::exists(dir / "x.jsonl"));
}

TEST_CASE("data convert skips and lists as many bad files as it may") {
  const TemporaryFolder dir;
  write_pairs(dir, 4);
  write_text(dir / "set/2_user.wav", "x");
  const auto out = run_cli("data convert " + in(dir) + "set " + in(dir) + "c.jsonl --skip-bad 1");
  CHECK_MESSAGE(out.exit_code == 0, out.output);
  CHECK(has(out, "3 cuts"));
  CHECK(has(out, "skipped 1"));
  CHECK(has(out, "2_user.wav"));
}

TEST_CASE("recordings of phones are read by ffmpeg, and what to install is said without it") {
  const TemporaryFolder dir;
  write_pairs(dir, 1);
  write_text(dir / "set/1_user.m4a", "no audio");
  write_text(dir / "set/1_agent.m4a", "no audio");
  const std::string words = "data convert " + in(dir) + "set " + in(dir) + "c.jsonl --no-audio";
  const auto without = run_cli(words, "PATH=/none");
  CHECK_MESSAGE(without.exit_code == 0, without.output);
  CHECK(has(without, "2 files were not read: 1_agent.m4a, 1_user.m4a"));
  CHECK(has(without, "read where ffmpeg is installed (Debian: apt-get install ffmpeg)"));
  if (run_shell("command -v ffmpeg").exit_code != 0) {
    MESSAGE("skipped: ffmpeg is not installed");
    return;
  }
  CHECK(has(run_cli(words + " --force"), "m4a' cannot be read: ffmpeg: exit status"));
  for (const std::string side : {"user", "agent"}) {
    const std::string stem = dir / ("set/1_" + side);
    REQUIRE(run_shell("ffmpeg -nostdin -loglevel error -y -i " + (dir / "set/0_user.wav") + " " +
                      stem + ".m4a")
                .exit_code == 0);
  }
  const auto out = run_cli(words + " --force");
  CHECK_MESSAGE(has(out, "2 cuts"), out.output);
  CHECK_FALSE(has(out, "not read"));
  CHECK(std::filesystem::exists(dir / "c.audio"));
  const auto untrusted = run_cli(words + " --force --untrusted");
  CHECK_MESSAGE(has(untrusted, "not with --untrusted"), untrusted.output);
}

TEST_CASE("data convert that is stopped leaves no result, and goes on when it is called again") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 8000, ramp(8000));
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += "r" + std::to_string(i) + " sleep 0.1; cat " + (dir / "a.wav") + " |\n";
  }
  write_text(dir / "wav.scp", lines);
  const std::string out = dir / "cuts.jsonl";
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string program = s2s::test::binary_dir() + "/bin/s2s-run";
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execl(program.c_str(), "s2s-run", "data", "convert", dir.path().c_str(), out.c_str(),
          "--threads", "1", "--allow-commands", nullptr);
    _exit(127);
  }
  while (!std::filesystem::exists(out + ".part")) {
    REQUIRE(waitpid(child, nullptr, WNOHANG) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 8);
  CHECK_FALSE(std::filesystem::exists(out));
  REQUIRE(std::filesystem::exists(out + ".part.json"));
  std::ifstream state(out + ".part.json");
  const int64_t done = json::parse(state)["pieces"];
  CHECK(done < 40);
  const auto again =
      run_cli("data convert " + dir.path().string() + " " + out + " --json --allow-commands");
  REQUIRE_MESSAGE(again.exit_code == 0, again.output);
  CHECK(json::parse(again.output.substr(again.output.find('{')))["pieces_done_before"] == done);
  CHECK(num_lines(out) == 40);
  CHECK_FALSE(std::filesystem::exists(out + ".part"));
}
