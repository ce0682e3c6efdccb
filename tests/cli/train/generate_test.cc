// generate: whole recordings and frame by frame.

#include <doctest/doctest.h>
#include <sndfile.h>
#include <sys/stat.h>

#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string recording(int i) {
  return (tiny_set() / "audio/dev" / ("dev-00000" + std::to_string(i) + "_user.wav")).string();
}

Outcome generate(
    const fs::path& output, const Words& more,
    const std::string& checkpoint = (uninterrupted_run() / "checkpoints/last").string()) {
  Words words = tiny_words("generate", output / "run", {"--checkpoint", checkpoint});
  words.insert(words.end(), {"--output", output.string()});
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(words);
}

std::vector<json> answers(const fs::path& folder) {
  std::vector<json> lines;
  std::ifstream in(folder / "answers.jsonl");
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

int64_t num_samples(const fs::path& wav) {
  SF_INFO info{};
  SNDFILE* const file = sf_open(wav.c_str(), SFM_READ, &info);
  REQUIRE(file != nullptr);
  sf_close(file);
  CHECK(info.samplerate == 16000);
  CHECK(info.channels == 1);
  return info.frames;
}

}  // namespace

TEST_CASE("whole and streamed generation give the same tokens, text and audio") {
  const TemporaryFolder folder;
  const Outcome whole = generate(folder.path() / "whole", {"--input", recording(0), recording(2)});
  const Outcome live =
      generate(folder.path() / "live", {"--input", recording(0), recording(2), "--stream"});
  REQUIRE_MESSAGE(whole.exit_code == 0, whole.output);
  REQUIRE_MESSAGE(live.exit_code == 0, live.output);
  CHECK(contains(whole.output, "real-time factor "));
  CHECK_FALSE(contains(whole.output, "per 80 ms frame"));
  CHECK(contains(live.output, "real-time factor "));
  CHECK(contains(live.output, "per 80 ms frame: median "));
  const std::vector<json> expected = answers(folder.path() / "whole");
  const std::vector<json> found = answers(folder.path() / "live");
  REQUIRE(expected.size() == 2);
  REQUIRE(found.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    for (const char* key : {"input", "output", "text", "text_tokens", "audio_tokens", "seconds"}) {
      CHECK_MESSAGE(found[i].at(key) == expected[i].at(key), key);
    }
    CHECK(found[i]["real_time_factor"].get<double>() > 0);
    const std::string wav = expected[i]["output"];
    const auto frames = static_cast<int64_t>(expected[i]["text_tokens"].size());
    CHECK(frames == static_cast<int64_t>(expected[i]["audio_tokens"].size()));
    CHECK(frames == doctest::Approx(expected[i]["seconds"].get<double>() * 12.5).epsilon(0.05));
    CHECK(num_samples(folder.path() / "whole" / wav) == frames * 1280);
    CHECK(num_samples(folder.path() / "live" / wav) == frames * 1280);
  }
}

TEST_CASE("a folder in place of a configuration is the checkpoint") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "out";
  const Outcome answered = run_s2s({"generate", uninterrupted_run().string(), "--input",
                                    recording(0), "--output", output.string()});
  CHECK_MESSAGE(answered.exit_code == 0, answered.output);
  CHECK(answers(output).size() == 1);
  const Outcome none = run_s2s({"validate", "configs/tiny.yaml"});
  CHECK(none.exit_code == 2);
  CHECK_MESSAGE(contains(none.output, "s2s-run validate: --checkpoint is required"), none.output);
}

TEST_CASE("a run's folder, a folder of recordings and a channel are all that generate needs") {
  const TemporaryFolder folder;
  const fs::path inputs = folder.path() / "in", output = folder.path() / "out";
  fs::create_directories(inputs);
  fs::copy_file(recording(2), inputs / "b.wav");
  write_text(inputs / "notes.txt", "no recording");
  SF_INFO info{0, 16000, 2, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0, 0};
  SNDFILE* const stereo = sf_open((inputs / "a.wav").c_str(), SFM_WRITE, &info);
  const std::vector<float> silence(2 * 16000);
  sf_writef_float(stereo, silence.data(), 16000);
  sf_close(stereo);
  const Words words = {"generate",      "--checkpoint",  uninterrupted_run().string(),
                       "--input",       inputs.string(), "--output",
                       output.string(), "--channel"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_s2s(more);
  };
  const Outcome narrow = with({"1"});
  CHECK(narrow.exit_code == 5);
  CHECK_MESSAGE(contains(narrow.output, "b.wav' has no channel 1; expected 0 to 0"), narrow.output);
  CHECK_FALSE(fs::exists(output));
  const Outcome done = with({"0"});
  REQUIRE_MESSAGE(done.exit_code == 0, done.output);
  CHECK(contains(done.output, "loading " + (uninterrupted_run() / "checkpoints/step=24").string()));
  CHECK(contains(done.output, "a.wav has 2 channels; channel 0 is used"));
  CHECK(contains(done.output, "  speech: " + (output / "000_a.wav").string()));
  CHECK(contains(done.output, "  text:   "));
  CHECK(answers(output).size() == 2);
  const Outcome again = with({"0"});
  CHECK(again.exit_code == 5);
  CHECK(contains(again.output, "[io/exists]"));
  CHECK(with({"0", "--force"}).exit_code == 0);
  const Outcome none =
      run_s2s({"generate", "--checkpoint", uninterrupted_run().string(), "--input",
               (uninterrupted_run() / "checkpoints").string(), "--output", output.string()});
  CHECK(contains(none.output, "has no audio files"));
}

TEST_CASE("names of answers are plain, whatever the inputs are called") {
  const TemporaryFolder folder;
  const fs::path inputs = folder.path() / "inputs";
  fs::create_directories(inputs);
  fs::copy(recording(0), inputs / "a\n\x1b[2J\xe2\x80\xae b\\.wav");
  const Outcome done = generate(folder.path() / "out", {"--input", inputs.string()});
  REQUIRE_MESSAGE(done.exit_code == 0, done.output);
  CHECK(fs::exists(folder.path() / "out" / "000_a_n_x1b[2J_u202e b_.wav"));
  const Outcome pipe = generate(folder.path() / "none",
                                {"--input", [&] {
                                   const std::string path = (folder.path() / "pipe.wav").string();
                                   REQUIRE(mkfifo(path.c_str(), 0600) == 0);
                                   return path;
                                 }()});
  CHECK(pipe.exit_code == 5);
  CHECK_MESSAGE(contains(pipe.output, "[data/unreadable-audio]"), pipe.output);
}

TEST_CASE("validate of a run's folder writes its report there, whatever its configuration says") {
  const TemporaryFolder folder;
  const fs::path moved = folder.path() / "moved";
  fs::copy(uninterrupted_run(), moved,
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const Outcome done =
      run_s2s({"validate", "--checkpoint", moved.string(), "--limit-batches", "1"});
  REQUIRE_MESSAGE(done.exit_code == 0, done.output);
  CHECK(contains(done.output, "report: " + (moved / "report/index.html").string()));
  const Words into = {"validate",        "--checkpoint",
                      moved.string(),    "trainer.seed=1",
                      "--limit-batches", "1",
                      "--report",        (moved / "report").string()};
  CHECK(contains(run_s2s(into).output, "[io/exists]"));
}

TEST_CASE("drawn tokens follow the seed alone, streamed or not") {
  const TemporaryFolder folder;
  const auto drawn = [&](const char* name, const Words& more) {
    Words words = {"--input", recording(0), recording(2)};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = generate(folder.path() / name, words);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return answers(folder.path() / name);
  };
  const Words how = {"--temperature",        "1.3", "--top-k", "20", "--top-p", "0.9",
                     "--repetition-penalty", "1.2"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), how.begin(), how.end());
    return more;
  };
  const std::vector<json> greedy = drawn("greedy", {});
  const std::vector<json> first = drawn("first", with({"--seed", "7"}));
  const std::vector<json> live = drawn("live", with({"--seed", "7", "--stream"}));
  const std::vector<json> other = drawn("other", with({"--seed", "8"}));
  for (size_t i = 0; i < 2; ++i) {
    for (const char* key : {"text", "text_tokens", "audio_tokens"}) {
      CHECK_MESSAGE(live[i].at(key) == first[i].at(key), key);
    }
    CHECK(first[i]["audio_tokens"] != greedy[i]["audio_tokens"]);
    CHECK(first[i]["audio_tokens"] != other[i]["audio_tokens"]);
  }
  // A temperature near 0, or a single candidate, leaves the likeliest.
  CHECK(drawn("one", {"--temperature", "2", "--top-k", "1"})[0]["audio_tokens"] ==
        greedy[0]["audio_tokens"]);
  CHECK(drawn("zero", {"--temperature", "0"})[1]["text_tokens"] == greedy[1]["text_tokens"]);
}

TEST_CASE("generate refuses what it cannot answer, before it writes anything") {
  const TemporaryFolder folder;
  write_text(folder.path() / "text.wav", "no audio");
  SF_INFO info{0, 16000, 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0, 0};
  sf_close(sf_open((folder.path() / "empty.wav").c_str(), SFM_WRITE, &info));
  info.format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
  SNDFILE* const flac = sf_open((folder.path() / "cut.flac").c_str(), SFM_WRITE, &info);
  const std::vector<float> silence(1600);
  sf_writef_float(flac, silence.data(), 1600);
  sf_close(flac);
  fs::resize_file(folder.path() / "cut.flac", 42);  // its header only
  const std::string good = recording(0);
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  struct Case {
    Words words;
    int exit_code;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"--input", good, at("none.wav")},
       5,
       "[data/missing-file] the audio file '" + at("none.wav")},
      {{"--input", good, at("text.wav")},
       5,
       "[data/unreadable-audio] the audio file '" + at("text.wav")},
      {{"--input", good, at("empty.wav")},
       5,
       "[data/empty-audio] the audio file '" + at("empty.wav")},
      {{"--input", at("cut.flac")}, 5, "it is cut off: of 1600 samples 0 are there"},
      {{"--input", ""}, 5, "[data/missing-file]"},
      {{"--input"}, 2, "--input"},
      {{}, 2, "needs --input WAV"},
      {{"--input", "--stream"}, 2, "--input"},
      {{"--input", good, "--temperature", "-1"}, 2, "'-1'; expected a number of at least 0"},
      {{"--input", good, "--temperature", "hot"}, 2, "--temperature"},
      {{"--input", good, "--top-k", "5"}, 2, "--top-k requires --temperature"},
      {{"--input", good, "--seed", "5"}, 2, "--seed requires --temperature"},
      {{"--input", good, "--temperature", "1", "--top-p", "1.5"}, 2, "at most 1"},
      {{"--input", good, "--temperature", "1", "--top-k", "2.5"}, 2, "a whole number"},
      {{"--input", good, "--repetition-penalty", "0"}, 2, "expected a number above 0"},
  };
  for (const Case& mistake : cases) {
    const Outcome outcome = generate(folder.path() / "out", mistake.words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == mistake.exit_code);
    CHECK(contains(outcome.output, mistake.message));
    CHECK(contains(outcome.output, "error: ["));
    CHECK_FALSE(contains(outcome.output, "[internal]"));
    CHECK_FALSE(fs::exists(folder.path() / "out"));
  }
}

TEST_CASE("an output folder that cannot be made is one message") {
  const TemporaryFolder folder;
  write_text(folder.path() / "file", "mine");
  const Outcome outcome = generate(folder.path() / "file/out", {"--input", recording(0)});
  CHECK(outcome.exit_code == 5);
  CHECK(contains(outcome.output, "[io/write] " + (folder.path() / "file/out").string()));
  CHECK(read_text(folder.path() / "file") == "mine");
}

TEST_CASE("a checkpoint that is not there, or of another model, is one message") {
  const TemporaryFolder folder;
  for (const char* command : {"generate", "validate"}) {
    Words words = tiny_words(command, folder.path() / "run", {"--checkpoint", "no/such/step=3"});
    if (command == std::string("generate")) {
      words.insert(words.end(), {"--input", recording(0), "--output", folder.path() / "out"});
    }
    const Outcome outcome = run_s2s(words);
    CHECK_MESSAGE(outcome.exit_code == 5, outcome.output);
    CHECK(contains(outcome.output, "[checkpoint/missing] no checkpoint at no/such/step=3"));
    CHECK(contains(outcome.output, "expected: "));
  }
  const Outcome other =
      generate(folder.path() / "out", {"model.llm.hidden_size=32", "--input", recording(0)});
  CHECK(other.exit_code == 3);
  CHECK(contains(other.output, "[checkpoint/model]"));
  CHECK(
      contains(other.output,
               "different size: llm.norm.weight is [64] in the checkpoint and [32] in the model"));
  CHECK_FALSE(fs::exists(folder.path() / "out"));
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE(
    "a checkpoint brings its tokenizer: neither the data nor the tokenizer's path is needed") {
  const TemporaryFolder folder;
  const fs::path wav = folder.path() / "question.wav";
  fs::copy_file(recording(0), wav);
  const Outcome usual = generate(folder.path() / "usual", {"--input", wav.string()});
  const std::string gone = "tiny.data=" + (folder.path() / "gone").string();
  const Outcome alone = generate(folder.path() / "alone", {gone, "--input", wav.string()});
  REQUIRE_MESSAGE(usual.exit_code == 0, usual.output);
  REQUIRE_MESSAGE(alone.exit_code == 0, alone.output);
  CHECK(answers(folder.path() / "alone").at(0).at("text") ==
        answers(folder.path() / "usual").at(0).at("text"));
  CHECK(read_text(uninterrupted_run() / "checkpoints/last/tokenizer/tokenizer.model") ==
        read_text(tiny_set() / "tokenizer.model"));
}
