// A conversion that is continued takes nothing over of a source that has changed since, also when
// its size and time are the same.

#include "common/allowed_commands.h"
#include "common/quiet_change.h"
#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

ConversionResult convert_to(const std::string& out, const std::string& source,
                            const ImportOptions& options = {}) {
  const auto importer = open_importer(source, options);
  return convert::convert(
      *importer, out, {}, [] { return false; }, [](int64_t, int64_t) {});
}

/// A conversion that a bad piece ends.
void convert_until_bad(const std::string& out, const std::string& source,
                       const ImportOptions& options = {}) {
  CHECK_FALSE(message_of([&] { convert_to(out, source, options); }).empty());
  CHECK(std::filesystem::exists(out + ".part"));
}

constexpr const char* kHello = R"({"segments": [{"start": 0, "end": 1, "text": "hello"}]})";

/// Two files with two channels; "b" has a transcript that is no JSON.
void write_stereo(const TemporaryFolder& dir) {
  for (const char* name : {"a", "b"})
    write_seconds(dir / ("set/" + std::string(name) + ".wav"), 8000, 2, 2);
  write_text(dir / "set/a.json", kHello);
  write_text(dir / "set/b.json", "{");
}

bool file_says(const std::string& path, const std::string& word) {
  return holds(whole_text(path), word);
}

}  // namespace

TEST_CASE("what has not changed is continued") {
  const TemporaryFolder dir;
  write_stereo(dir);
  convert_until_bad(dir / "o.jsonl", dir / "set");
  write_text(dir / "set/b.json", kHello);
  const auto result = convert_to(dir / "o.jsonl", dir / "set");
  CHECK(result.resumed == 1);
  CHECK_FALSE(result.begun_anew);
  CHECK(result.cuts == 2);
}

TEST_CASE("a transcript that changes, appears or goes begins a conversion anew") {
  const TemporaryFolder dir;
  write_stereo(dir);
  std::string word = "hello";
  SUBCASE("changes") {
    convert_until_bad(dir / "o.jsonl", dir / "set");
    change_quietly(dir / "set/a.json", "hello", word = "jolly");
  }
  SUBCASE("appears") {
    std::filesystem::rename(dir / "set/a.json", dir / "a.json");
    convert_until_bad(dir / "o.jsonl", dir / "set");
    std::filesystem::rename(dir / "a.json", dir / "set/a.json");
  }
  SUBCASE("is another file") {
    std::filesystem::rename(dir / "set/a.json", dir / "a.json");
    write_text(dir / "set/a.txt", "0\t1\tother");
    convert_until_bad(dir / "o.jsonl", dir / "set");
    std::filesystem::rename(dir / "a.json", dir / "set/a.json");
  }
  write_text(dir / "set/b.json", kHello);
  const auto result = convert_to(dir / "o.jsonl", dir / "set");
  CHECK(result.begun_anew);
  CHECK(result.resumed == 0);
  CHECK(result.cuts == 2);
  CHECK(file_says(dir / "o.jsonl", word));
}

TEST_CASE("audio that changes begins a conversion anew: pairs, and their common transcript") {
  const TemporaryFolder dir;
  for (const char* name : {"a", "b"}) {
    for (const char* side : {"_user.wav", "_agent.wav"}) {
      write_seconds(dir / ("set/" + std::string(name) + side), 8000, 2);
    }
  }
  write_text(dir / "set/a.json", R"({"segments": [
      {"start": 0, "end": 1, "text": "hello", "speaker": "user"}]})");
  write_text(dir / "set/b.json", "{");
  convert_until_bad(dir / "o.jsonl", dir / "set");
  SUBCASE("audio") {
    // Another rate in the same number of bytes.
    const auto time = std::filesystem::last_write_time(dir / "set/a_user.wav");
    for (const char* side : {"_user.wav", "_agent.wav"}) {
      write_seconds(dir / ("set/a" + std::string(side)), 16000, 1);
    }
    std::filesystem::last_write_time(dir / "set/a_user.wav", time);
  }
  SUBCASE("transcript") { change_quietly(dir / "set/a.json", "hello", "jolly"); }
  write_text(dir / "set/b.json", kHello);
  CHECK(convert_to(dir / "o.jsonl", dir / "set").begun_anew);
}

TEST_CASE("a manifest of lhotse is known by its lines") {
  const TemporaryFolder dir;
  std::string recordings, supervisions;
  for (const std::string id : {"r0", "r1"}) {
    recordings += R"({"id": ")" + id + R"(", "sources": [{"type": "file", "channels": [0], )" +
                  R"("source": "x.wav"}], "sampling_rate": 8000, "num_samples": 8000, )" +
                  R"("duration": 1.0})" + "\n";
    supervisions += R"({"id": "s)" + id + R"(", "recording_id": ")" + id +
                    R"(", "start": 0, "duration": 1.0, "channel": 0, "text": "hello"})" + "\n";
  }
  write_text(dir / "recordings.jsonl", recordings + "{bad\n");
  write_text(dir / "supervisions.jsonl", supervisions);
  convert_until_bad(dir / "o.jsonl", dir / "recordings.jsonl");
  bool is_same = false;
  SUBCASE("supervisions") { change_quietly(dir / "supervisions.jsonl", "hello", "jolly"); }
  SUBCASE("recordings") { change_quietly(dir / "recordings.jsonl", "x.wav", "y.wav"); }
  SUBCASE("neither, but a line is repaired") { is_same = true; }
  const std::string now = whole_text(dir / "recordings.jsonl");
  write_text(dir / "recordings.jsonl", now.substr(0, now.find("{bad")));
  const auto result = convert_to(dir / "o.jsonl", dir / "recordings.jsonl");
  CHECK(result.begun_anew == !is_same);
  CHECK(result.resumed == (is_same ? 2 : 0));
  CHECK(file_says(dir / "o.jsonl", "hello"));
}

TEST_CASE("a manifest of NeMo is known by its cuts") {
  const TemporaryFolder dir;
  std::string lines;
  for (const char* name : {"a.wav", "b.wav"}) {
    lines += R"({"audio_filepath": ")" + (dir / name) + R"(", "duration": 1.0, "text": "hello"})";
    lines += "\n";
    write_seconds(dir / name, 8000, 1);
  }
  const std::string bad = R"({"audio_filepath": "c.wav", "duration": 0.0, "text": "a"})";
  write_text(dir / "m.json", lines + bad + "\n");
  ImportOptions nemo;
  nemo.from = "nemo";
  convert_until_bad(dir / "o.jsonl", dir / "m.json", nemo);
  change_quietly(dir / "m.json", "hello", "jolly");
  convert_until_bad(dir / "o.jsonl", dir / "m.json", nemo);
  CHECK(file_says(dir / "o.jsonl.part", "jolly"));
}

TEST_CASE("a Kaldi directory is known by its lines and audio files; commands are not run again") {
  const AllowedCommands allowed;
  const TemporaryFolder dir;
  write_seconds(dir / "a.wav", 8000, 2);
  const std::string command = "echo x >> " + (dir / "runs") + "; cat " + (dir / "a.wav") + " |";
  make_folder(dir / "k");
  write_text(dir / "k/wav.scp", "ra " + command + "\nrb " + (dir / "a.wav") + "\nrc none.wav\n");
  write_text(dir / "k/text", "ra hello\nrb hello\nrc x\n");
  write_text(dir / "k/utt2spk", "ra anna\nrb anna\nrc bob\n");
  convert_until_bad(dir / "o.jsonl", dir / "k");
  CHECK(whole_text(dir / "runs").size() == 2);
  std::string runs = "x\nx\n";
  SUBCASE("text") { change_quietly(dir / "k/text", "hello", "jolly"); }
  SUBCASE("speaker") { change_quietly(dir / "k/utt2spk", "anna", "hugo"); }
  SUBCASE("audio") {
    const std::string audio = whole_text(dir / "a.wav");
    change_quietly(dir / "a.wav", audio.substr(100, 4), "\1\2\3\4");
  }
  SUBCASE("nothing") { runs = "x\n"; }
  convert_until_bad(dir / "o.jsonl", dir / "k");
  CHECK(whole_text(dir / "runs") == runs);
}
