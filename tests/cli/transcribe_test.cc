// s2s-run transcribe: a small recognizer that NeMo saved, on noise.

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "audio/wave_file.h"
#include "cli/command.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "core/duplex/data_files.h"

using namespace s2s::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRecognizerData = source_dir() + "/tests/reference/data/";

/// Two recordings of the recognizer's reference file.
void write_recordings(const TemporaryFolder& dir) {
  const s2s::ReferenceFile file = s2s::read_reference(kRecognizerData + "nemo_asr_ctc.safetensors");
  for (int64_t row : {0, 1}) {
    const int64_t length = file.input("lengths")[row].item<int64_t>();
    s2s::write_wave(dir / (row == 0 ? "a.wav" : "b.wav"),
                    file.input("audio")[row].narrow(0, 0, length).clamp(-1, 1), 16000);
  }
}

/// The recordings again and again: 000.wav, 001.wav, ...
void write_many(const TemporaryFolder& dir, int count) {
  const TemporaryFolder two;
  write_recordings(two);
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    fs::copy_file(two / (i % 2 == 0 ? "a.wav" : "b.wav"),
                  dir / (std::string(3 - number.size(), '0') + number + ".wav"));
  }
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string command_of(const TemporaryFolder& dir, const std::string& more) {
  return "transcribe " + dir.path().string() + " --scorer ctc --path " + kRecognizerData +
         "recognizer.nemo " + more;
}

}  // namespace

TEST_CASE("transcribe writes texts, and words that follow each other in time") {
  const TemporaryFolder dir;
  write_recordings(dir);
  const CommandResult text = run_cli(command_of(dir, ""));
  REQUIRE_MESSAGE(text.exit_code == 0, text.output);
  CHECK(contains(text.output, "a.wav: "));
  const CommandResult run = run_cli(command_of(dir, "--format json"));
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  std::istringstream lines(run.output);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    const json row = json::parse(line);
    std::string joined;
    double before_s = 0;
    for (const json& word : row["words"]) {
      joined += (joined.empty() ? "" : " ") + word["word"].get<std::string>();
      CHECK(word["start"].get<double>() >= before_s - 0.081);
      CHECK(word["end"].get<double>() > word["start"].get<double>());
      before_s = word["end"];
    }
    for (const json& word : row["words"]) CHECK(word.contains("confidence"));
    CHECK(row["confidence"].get<double>() > 0);
    CHECK(joined == row["pred_text"].get<std::string>());
    CHECK_FALSE(joined.empty());
    CHECK(before_s <= row["duration"].get<double>() + 0.081);
    CHECK_FALSE(row.contains("channel"));
    CHECK(contains(text.output, ": " + joined));
    ++count;
  }
  CHECK(count == 2);
}

TEST_CASE("transcribe writes subtitles of one recording, and keeps what is there") {
  const TemporaryFolder dir;
  write_recordings(dir);
  const std::string one = "transcribe " + (dir / "a.wav") + " --scorer ctc --path " +
                          kRecognizerData + "recognizer.nemo --format srt -o " + (dir / "a.srt");
  REQUIRE(run_cli(one).exit_code == 0);
  CHECK(contains(run_cli(one).output, "[io/exists]"));
  CHECK(run_cli(one + " --force").exit_code == 0);
  const CommandResult both = run_cli(command_of(dir, "--format srt"));
  CHECK(both.exit_code == 2);
  CHECK(contains(both.output, "one recording has one file of subtitles"));
  const CommandResult shown = run_cli("transcribe " + (dir / "a.wav") + " --scorer ctc --path " +
                                      kRecognizerData + "recognizer.nemo --format srt");
  CHECK(shown.output.starts_with("1\n00:00:0"));
  CHECK(contains(shown.output, " --> 00:00:0"));
}

TEST_CASE("transcribe takes the decoder that the model has") {
  const TemporaryFolder dir;
  write_recordings(dir);
  const std::string chosen = command_of(dir, "--format json");
  std::string plain = chosen;
  plain.replace(plain.find(" --scorer ctc"), std::string(" --scorer ctc").size(), "");
  const CommandResult expected = run_cli(chosen), found = run_cli(plain);
  CHECK(found.exit_code == 0);
  CHECK(found.output == expected.output);
  CHECK(contains(run_cli(plain + " --scorer transducer").output, "[scorer/no-decoder]"));
}

TEST_CASE("transcribe says what a wrong argument is") {
  const TemporaryFolder dir;
  write_recordings(dir);
  CHECK(contains(run_cli("transcribe none.wav --path " + kRecognizerData + "nothing.nemo").output,
                 "[data/missing-file]"));
  CHECK(
      contains(run_cli("transcribe " + (dir / "a.wav") + " --path none.nemo").output, "none.nemo"));
  const CommandResult unknown =
      run_cli("transcribe " + (dir / "a.wav") + " --scorer nothing --path " + kRecognizerData +
              "recognizer.nemo");
  CHECK(contains(unknown.output, "[plugin/unknown]"));
  CHECK(contains(run_cli(command_of(dir, "--set decoding.strategy=maes")).output,
                 "[scorer/strategy]"));
}

TEST_CASE("transcribe searches as --set says; a beam search has no confidence") {
  const TemporaryFolder dir;
  write_recordings(dir);
  const CommandResult run = run_cli(command_of(
      dir, "--format json --set decoding.strategy=beam_batch --set decoding.beam.beam_size=3"));
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  CHECK(contains(run.output, "\"pred_text\""));
  CHECK_FALSE(contains(run.output, "\"confidence\""));
}

TEST_CASE("transcribe goes through many recordings in groups, and keeps their order") {
  const TemporaryFolder dir, out;
  write_many(dir, 11);
  const CommandResult groups = run_cli(command_of(dir, "--batch-size 1"));  // four recordings each
  REQUIRE_MESSAGE(groups.exit_code == 0, groups.output);
  const auto lines = lines_in(groups.output);
  REQUIRE(lines.size() == 11);
  for (size_t i = 0; i < lines.size(); ++i) {
    CHECK(contains(lines[i], std::to_string(i / 10) + std::to_string(i % 10) + ".wav: "));
    // What a recording says does not depend on its group.
    CHECK(lines[i].substr(lines[i].find(".wav: ")) ==
          lines[i % 2].substr(lines[i % 2].find(".wav: ")));
  }
  const std::string to_file = "--batch-size 1 -o " + (out / "heard.txt");
  CHECK(run_cli(command_of(dir, to_file)).output.empty());
  CHECK(text_of_file(out / "heard.txt") == groups.output);
  CHECK_FALSE(fs::exists(out / "heard.txt.part"));
  CHECK_FALSE(fs::exists(out / "heard.txt.part.json"));
  CHECK(contains(run_cli(command_of(dir, to_file)).output, "[io/exists]"));
  CHECK(run_cli(command_of(dir, "-o /dev/null")).exit_code == 0);
  CHECK(contains(
      run_shell(binary_dir() + "/bin/s2s-run " + command_of(dir, "--force -o /dev/stdout")).output,
      "010.wav: "));
}

TEST_CASE("transcribe keeps what is before a bad recording, goes on there, or leaves it out") {
  const TemporaryFolder dir, out;
  write_many(dir, 7);
  dir.write("0031.wav", "no audio");  // the fifth
  const std::string heard = out / "heard.jsonl";
  const std::string to_file = "--format json -o " + heard;
  const CommandResult bad = run_cli(command_of(dir, to_file));
  CHECK(bad.exit_code == 5);
  CHECK(contains(bad.output, "[data/unreadable-audio]"));
  CHECK(contains(bad.output, "0031.wav"));
  CHECK(contains(bad.output, "4 of 8 recordings are done; '" + heard +
                                 ".part' has them, and the same command goes on"));
  CHECK_FALSE(fs::exists(heard));
  CHECK(lines_in(text_of_file(heard + ".part")).size() == 4);
  const CommandResult shown =
      run_shell("(" + binary_dir() + "/bin/s2s-run " + command_of(dir, "2> /dev/null)"));
  CHECK(lines_in(shown.output).size() == 4);

  const CommandResult skipped = run_cli(command_of(dir, to_file + " --skip-bad 1"));
  CHECK(skipped.exit_code == 0);
  CHECK(contains(skipped.output, "4 of 8 recordings were done before"));
  CHECK(contains(skipped.output, "warning: left out: [data/unreadable-audio]"));
  CHECK(contains(skipped.output, "left out 1 of 8 recordings"));
  const auto lines = lines_in(text_of_file(heard));
  REQUIRE(lines.size() == 7);
  for (size_t i = 0; i < lines.size(); ++i) {
    CHECK(contains(json::parse(lines[i])["audio_filepath"], "00" + std::to_string(i) + ".wav"));
  }
  CHECK_FALSE(fs::exists(heard + ".part"));

  // With other options, the partial file is begun anew.
  CHECK(run_cli(command_of(dir, to_file + "2")).exit_code == 5);
  const CommandResult other =
      run_cli(command_of(dir, "--format text --skip-bad 1 -o " + heard + "2"));
  CHECK(other.exit_code == 0);
  CHECK(contains(other.output, "begun anew: '" + heard + "2.part' was of other"));
  CHECK(lines_in(text_of_file(heard + "2")).size() == 7);

  const CommandResult beside = run_cli(command_of(dir, "--format alignments --skip-bad 1"));
  CHECK(beside.exit_code == 0);
  CHECK(contains(beside.output, "wrote 7 transcripts, left out 1\n"));
}

TEST_CASE("transcribe stops on ^C after a group, and the same command goes on") {
  const TemporaryFolder dir, out;
  write_many(dir, 240);
  const std::string heard = out / "heard.txt";
  const std::string more = "--batch-size 1 -o " + heard;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    freopen((out / "said").c_str(), "w", stdout);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    const std::string line = "exec " + binary_dir() + "/bin/s2s-run " + command_of(dir, more);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  while (!fs::exists(heard + ".part.json")) {
    REQUIRE(waitpid(child, nullptr, WNOHANG) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  const std::string said = text_of_file(out / "said");
  // A fast machine may have finished.
  CHECK_MESSAGE((WEXITSTATUS(status) == 8 || WEXITSTATUS(status) == 0), said);
  if (WEXITSTATUS(status) == 8) {
    CHECK_FALSE(fs::exists(heard));
    const size_t done = lines_in(text_of_file(heard + ".part")).size();
    CHECK(done % 4 == 0);
    CHECK_MESSAGE(
        contains(said, "stopped: " + std::to_string(done) + " of 240 recordings are done"), said);
    const CommandResult again = run_cli(command_of(dir, more));
    CHECK(again.exit_code == 0);
    CHECK(contains(again.output, std::to_string(done) + " of 240 recordings were done before"));
  }
  const auto lines = lines_in(text_of_file(heard));
  REQUIRE(lines.size() == 240);
  CHECK(contains(lines[0], "000.wav: "));
  CHECK(contains(lines[239], "239.wav: "));
}

TEST_CASE("transcribe hears two channels, silence, and recordings without a sample") {
  const TemporaryFolder dir;
  write_recordings(dir);
  const at::Tensor one_S = s2s::read_wave(dir / "a.wav", 0, 16000).samples_S;
  std::vector<float> samples;
  for (int64_t i = 0; i < one_S.numel(); ++i) {
    samples.push_back(one_S[i].item<float>());
    samples.push_back(0);
    samples.push_back(one_S[i].item<float>());  // who speaks at the same time
  }
  write_audio(dir / "c.wav", 16000, samples, 3);
  write_audio(dir / "d.wav", 16000, {});
  const CommandResult run =
      run_cli(command_of(dir, "--format json --batch-size 1 " + (dir / "a.wav")));
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  std::vector<json> rows;
  for (const std::string& line : lines_in(run.output)) rows.push_back(json::parse(line));
  REQUIRE(rows.size() == 7);  // a, b, c (three channels), d, and a again
  CHECK(rows[2]["channel"] == 0);
  CHECK(rows[2]["pred_text"] == rows[0]["pred_text"]);
  CHECK(rows[3]["pred_text"] == "");
  CHECK(rows[4]["words"] == rows[0]["words"]);
  CHECK(rows[5]["duration"] == 0);
  CHECK(rows[5]["pred_text"] == "");
  CHECK(rows[6] == rows[0]);
  // The same recording twice is one transcript; two of one name in one folder of transcripts are
  // not.
  const CommandResult twice = run_cli(command_of(dir, "--format alignments " + (dir / "a.wav")));
  CHECK(contains(twice.output, "wrote 4 transcripts, kept 1"));
  const TemporaryFolder other, out;
  write_recordings(other);
  const CommandResult same = run_cli(command_of(
      dir, "--format alignments " + other.path().string() + " -o " + out.path().string()));
  CHECK(same.exit_code == 2);
  CHECK(contains(same.output, "would have the same transcript"));
  const TemporaryFolder empty;
  empty.write("notes.txt", "no audio");
  CHECK(contains(run_cli(command_of(empty, "")).output, "[data/no-recording]"));
}
