// Recordings are recognized in groups, in their order, whatever is wrong with some of them.

#include "s2s_run/run/recording_groups.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "s2s_run/run/transcript_formats.h"

using namespace s2s;
using namespace s2s::run;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

namespace {

/// Writes how many samples it heard, and counts the clips of each call.
class CountingScorer : public Scorer {
 public:
  void prepare(const std::vector<std::string>&) override {}
  std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) override {
    calls.push_back(static_cast<int64_t>(clips.size()));
    std::vector<std::string> texts;
    for (const AudioClip& clip : clips) texts.push_back(std::to_string(clip.samples_S.numel()));
    return texts;
  }

  std::vector<int64_t> calls;
};

/// Recordings of 100, 200, ... samples; there is none for a length of -1.
std::vector<std::string> recordings_of(const TemporaryFolder& dir,
                                       const std::vector<int64_t>& lengths) {
  std::vector<std::string> files;
  for (const int64_t length : lengths) {
    files.push_back(dir / (std::to_string(files.size()) + ".wav"));
    if (length < 0) continue;
    write_audio(files.back(), 16000, std::vector<float>(static_cast<size_t>(length), 0.25F));
  }
  return files;
}

struct Heard {
  std::vector<std::string> texts;  // "-": left out
  std::vector<int64_t> calls;
  int64_t done = 0;
  std::string error;
};

/// stop_after: recordings; may_leave_out: how many.
Heard hear(const std::vector<std::string>& files, const GroupLimits& limits,
           int64_t may_leave_out = 0, size_t stop_after = 1000) {
  Heard heard;
  CountingScorer scorer;
  GroupEvents events;
  events.recognized = [&](const std::vector<RecordingTranscript>& recordings) {
    for (const RecordingTranscript& recording : recordings) {
      CHECK(recording.path == files[heard.texts.size()]);
      heard.texts.push_back(recording.problem.empty() ? "" : "-");
      for (const ChannelTranscript& channel : recording.channels) {
        heard.texts.back() += channel.transcript.text + ";";
      }
    }
  };
  events.leaves_out = [&](const Error&) { return may_leave_out-- > 0; };
  events.stops = [&] { return heard.texts.size() >= stop_after; };
  try {
    heard.done = recognize_in_groups(files, scorer, limits, events);
  } catch (const Error& error) {
    heard.error = error.what();
  }
  heard.calls = scorer.calls;
  return heard;
}

using Texts = std::vector<std::string>;
using Calls = std::vector<int64_t>;

}  // namespace

TEST_CASE("a group ends with the recording that reaches a limit, and the order is kept") {
  const TemporaryFolder dir;
  const auto files = recordings_of(dir, {500, 100, 400, 200, 300});
  const Texts texts = {"500;", "100;", "400;", "200;", "300;"};
  const Heard all = hear(files, {});
  CHECK(all.calls == Calls{5});
  CHECK(all.texts == texts);
  CHECK(all.done == 5);
  const Heard pairs = hear(files, {.num_clips = 2, .audio_s = 1800});
  CHECK(pairs.calls == Calls{2, 2, 1});
  CHECK(pairs.texts == texts);
  const Heard seconds = hear(files, {.num_clips = 64, .audio_s = 450.0 / 16000});
  CHECK(seconds.calls == Calls{1, 2, 2});
  CHECK(seconds.texts == texts);
}

TEST_CASE("a recording that cannot be read: those before it are done, and it may be left out") {
  const TemporaryFolder dir;
  const auto files = recordings_of(dir, {100, 200, -1, 300, -1, 400});
  const Heard strict = hear(files, {});
  CHECK(strict.texts == Texts{"100;", "200;"});
  CHECK(strict.error.find("[data/missing-file]") != std::string::npos);
  CHECK(strict.error.find("2.wav") != std::string::npos);
  const Heard one = hear(files, {}, 1);
  CHECK(one.texts == Texts{"100;", "200;", "-", "300;"});
  CHECK(one.error.find("4.wav") != std::string::npos);
  const Heard two = hear(files, {.num_clips = 2, .audio_s = 1800}, 2);
  CHECK(two.texts == Texts{"100;", "200;", "-", "300;", "-", "400;"});
  CHECK(two.calls == Calls{2, 2});
  CHECK(two.done == 6);
  const TemporaryFolder empty;
  const Heard none = hear(recordings_of(empty, {-1, -1}), {}, 2);
  CHECK(none.texts == Texts{"-", "-"});
  CHECK(none.calls.empty());
  CHECK(none.done == 2);
}

TEST_CASE("it stops after a group; recordings that were only read are not done") {
  const TemporaryFolder dir;
  const auto files = recordings_of(dir, {100, 200, 300, 400, 500});
  const Heard some = hear(files, {.num_clips = 2, .audio_s = 1800}, 0, 1);
  CHECK(some.calls == Calls{2});
  CHECK(some.done == 2);
  const Heard none = hear(files, {}, 0, 0);
  CHECK(none.calls.empty());
  CHECK(none.done == 0);
}

TEST_CASE("channels are heard by themselves; silence and no samples at all are recordings, too") {
  const TemporaryFolder dir;
  auto files = recordings_of(dir, {0, 160});
  files.push_back(dir / "stereo.wav");
  write_audio(files.back(), 8000, std::vector<float>(200, 0), 2);
  const Heard heard = hear(files, {});
  CHECK(heard.texts == Texts{"0;", "160;", "200;200;"});  // 100 samples of 8 kHz
  CHECK(heard.calls == Calls{4});
}

TEST_CASE("texts of a strange tokenizer stay one line that is safe for a terminal") {
  RecordingTranscript recording = {"a\x1b[2J.wav", {{0, 1.5, {}}}, ""};
  recording.channels[0].transcript.text = "one\ntwo\x1b]0;x\x07";
  CHECK(transcript_text(recording, false) == "one\\ntwo\\x1b]0;x\\x07\n");
  CHECK(transcript_text(recording, true) == "a\\x1b[2J.wav: one\\ntwo\\x1b]0;x\\x07\n");
  recording.channels[0].transcript.words = {{"one\n\n", 0, 0.5, {}}};
  CHECK(transcript_srt(recording) == "1\n00:00:00,000 --> 00:00:00,500\none\\n\\n\n\n");
  const std::string json = transcript_json(recording);
  CHECK(json.find(R"(one\ntwo\u001b]0;x\u0007)") != std::string::npos);
}
