// s2s-run transcribe: a small recognizer that NeMo saved, on noise.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "audio/wave_file.h"
#include "cli/command.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"

using namespace s2s::test;
using nlohmann::json;

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

TEST_CASE("transcribe says what a wrong argument is") {
  const TemporaryFolder dir;
  write_recordings(dir);
  CHECK(contains(
      run_cli("transcribe none.wav --scorer ctc --path " + kRecognizerData + "recognizer.nemo")
          .output,
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
