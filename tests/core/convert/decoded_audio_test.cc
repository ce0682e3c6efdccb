#include "convert/decoded_audio.h"

#include <fmt/format.h>

#include <cstdlib>

#include "audio/audio_reader.h"
#include "common/quiet_change.h"
#include "convert/unread_files.h"
#include "core/convert/convert_files.h"
#include "files/pipe_command.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

/// Whether ffmpeg is there; tests/run.sh installs it.
bool has_decoder() {
  if (!find_decoder().empty()) return true;
  MESSAGE("skipped: ffmpeg is not installed");
  return false;
}

ImportOptions decoding(const TemporaryFolder& dir) {
  ImportOptions options;
  options.decoder = find_decoder();
  options.decoded_folder = dir / "cuts.audio";
  return options;
}

/// What a phone or a browser would have recorded: two seconds, two channels, 44.1 kHz.
void encode(const TemporaryFolder& dir, const std::string& to) {
  std::filesystem::create_directories(std::filesystem::path(dir / to).parent_path());
  write_seconds(dir / "tone.wav", 44100, 2, 2);
  files::read_program({find_decoder(), "-nostdin", "-loglevel", "error", "-i",
                       "file:" + (dir / "tone.wav"), "-y", "file:" + (dir / to)},
                      {});
  std::filesystem::remove(dir / "tone.wav");
}

}  // namespace

TEST_CASE("recordings that only ffmpeg reads become FLAC files beside the result") {
  if (!has_decoder()) return;
  const TemporaryFolder dir;
  const std::vector<std::string> names = {"-i.m4a", "a b'$(x)`.webm", "c%d.MP4", "deep/d.aac",
                                          "e.caf"};
  for (const std::string& name : names) encode(dir, "set/" + name);
  write_text(dir / "set/c%d.json", R"({"segments": [{"start": 0, "end": 1, "text": "hello"}]})");
  const ImportOptions options = decoding(dir);
  CHECK(detect_import(dir / "set", options) == "stereo");
  const auto cuts = imported(dir / "set", options);
  REQUIRE(cuts.size() == names.size());
  for (const Cut& cut : cuts) {
    CAPTURE(cut.id);
    const std::string& file = cut.recording->sources.front().source;
    CHECK(file.starts_with(options.decoded_folder));
    CHECK(file.ends_with(".flac"));
    // Whoever may read other files of this user may read it.
    CHECK(std::filesystem::status(file).permissions() ==
          std::filesystem::status(dir / "set/c%d.json").permissions());
    const data::AudioInfo info = data::AudioReader(file).info();
    CHECK(info.num_channels == 2);
    CHECK(cut.duration_s == doctest::Approx(2).epsilon(0.05));
    CHECK(cut.supervisions.size() == (cut.id == "c%d" ? 1 : 0));
  }
  CHECK(unread_files(dir / "set", options).empty());
}

TEST_CASE("a decoded file is used again for the same content, and made for another one") {
  if (!has_decoder()) return;
  const TemporaryFolder dir;
  encode(dir, "set/a.m4a");
  const ImportOptions options = decoding(dir);
  const std::string first = readable_audio(dir / "set/a.m4a", options);
  const auto made = std::filesystem::last_write_time(first);
  CHECK(readable_audio(dir / "set/a.m4a", options) == first);
  CHECK(std::filesystem::last_write_time(first) == made);
  encode(dir, "other.m4a");
  std::string bytes = whole_text(dir / "set/a.m4a");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(dir / "set/a.m4a", std::ios::binary) << bytes;
  CHECK(readable_audio(dir / "set/a.m4a", options) != first);
}

TEST_CASE("a readable file of the same name is taken in place of the recording") {
  if (!has_decoder()) return;
  const TemporaryFolder dir;
  encode(dir, "set/a.m4a");
  write_seconds(dir / "set/a.wav", 8000, 1, 2);
  const auto cuts = imported(dir / "set", decoding(dir));
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].recording->sources.front().source == dir / "set/a.wav");
}

TEST_CASE("what is no recording is an error with ffmpeg's words, and leaves nothing") {
  if (!has_decoder()) return;
  const TemporaryFolder dir;
  make_folder(dir / "set");
  write_text(dir / "secret.wav", "");
  write_seconds(dir / "set/other.wav", 8000, 1);
  // A playlist would read another file.
  const std::string list = fmt::format("#EXTM3U\n#EXTINF:1,\n{}\n", dir / "set/other.wav");
  for (const std::string& text :
       {std::string("no audio"), list, "ffconcat version 1.0\nfile other.wav\n" + std::string()}) {
    write_text(dir / "set/a.m4a", text);
    const std::string message =
        message_of([&] { readable_audio(dir / "set/a.m4a", decoding(dir)); });
    CHECK(holds(message, "[data/unreadable-audio]"));
    CHECK(holds(message, "set/a.m4a' cannot be read: ffmpeg: exit status"));
  }
  CHECK(std::filesystem::is_empty(dir / "cuts.audio"));
  CHECK(holds(message_of([&] { readable_audio(dir / "set/none.m4a", decoding(dir)); }),
              "[data/missing-file]"));
}

TEST_CASE("ffmpeg is found in absolute folders of PATH only, and not with --untrusted") {
  const TemporaryFolder dir;
  const std::string before = std::getenv("PATH");
  write_text(dir / "ffmpeg", "#!/bin/sh\n");
  std::filesystem::permissions(dir / "ffmpeg", std::filesystem::perms::owner_all);
  setenv("PATH", (".:" + dir.path().string()).c_str(), 1);
  CHECK(find_decoder() == dir / "ffmpeg");
  setenv("S2S_UNTRUSTED", "1", 1);
  CHECK(find_decoder().empty());
  unsetenv("S2S_UNTRUSTED");
  setenv("PATH", ".", 1);
  CHECK(find_decoder().empty());
  setenv("PATH", before.c_str(), 1);
  CHECK(decoded_folder_of("x/cuts.jsonl.gz") == "x/cuts.audio");
  CHECK(decoded_folder_of("cuts.jsonl") == "cuts.audio");
}
