#include <sys/stat.h>

#include "common/allowed_commands.h"
#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

/// Two recordings of 2 s, one of them out of a command, three utterances.
void write_kaldi(const TemporaryFolder& dir) {
  write_seconds(dir / "a.wav", 16000, 2);
  write_text(dir / "wav.scp", "ra " + (dir / "a.wav") + "\nrb cat " + (dir / "a.wav") + " |\n");
  write_text(dir / "segments", "u1 ra 0.0 1.2345\nu2 ra 1.5 -1\nu3 rb 0.25 1.5\n");
  write_text(dir / "text", "u1 hello  there\nu2\nu3 x\n");
  write_text(dir / "utt2spk", "u1 anna\nu2 anna\nu3 bob\n");
  write_text(dir / "spk2gender", "anna f\nbob m\n");
}

ImportOptions kaldi() {
  ImportOptions options;
  options.from = "kaldi";
  return options;
}

}  // namespace

TEST_CASE("a Kaldi directory with segments becomes cuts of recordings") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder dir;
  write_kaldi(dir);
  CHECK(detect_import(dir.path().string(), {}) == "kaldi");
  const auto cuts = imported(dir.path().string(), {});
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[0].id == "ra-0");
  CHECK(cuts[0].duration_s == 2);
  REQUIRE(cuts[0].supervisions.size() == 2);
  const Supervision& first = cuts[0].supervisions[0];
  CHECK(first.id == "u1");
  CHECK(first.text == "hello  there");
  CHECK(first.speaker == "anna");
  CHECK(first.gender == "f");
  CHECK(first.duration_s == 1.2345);
  CHECK(cuts[0].supervisions[1].duration_s == 0.5);  // -1: to the end
  CHECK(cuts[0].supervisions[1].text == "");
  CHECK(cuts[1].recording->sources[0].type == AudioSource::Type::kCommand);
  CHECK(cuts[1].recording->sources[0].source == "cat " + (dir / "a.wav") + " ");
  CHECK(cuts[1].recording->num_samples == 32000);
}

TEST_CASE("without segments every recording is an utterance; reco2dur needs no audio") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder dir;
  write_text(dir / "wav.scp", "u1 false |\n");
  write_text(dir / "text", "u1 x y\n");
  write_text(dir / "reco2dur", "u1 1.25\n");
  ImportOptions options = kaldi();
  options.sample_rate_hz = 8000;
  const auto cuts = imported(dir.path().string(), options);
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].recording->num_samples == 10000);
  REQUIRE(cuts[0].supervisions.size() == 1);
  CHECK(cuts[0].supervisions[0].id == "u1");
  CHECK(cuts[0].supervisions[0].duration_s == 1.25);
  CHECK(holds(message_of([&] { imported(dir.path().string(), kaldi()); }), "[data/pipe]"));
}

TEST_CASE("recordings of two sides become one dialogue") {
  const TemporaryFolder dir;
  write_seconds(dir / "a.wav", 8000, 2);
  write_text(dir / "wav.scp", "c-A " + (dir / "a.wav") + "\nc-B " + (dir / "a.wav") + "\n");
  write_text(dir / "segments", "u1 c-A 1 1.5\nu2 c-B 0 0.5\n");
  write_text(dir / "text", "u1 b\nu2 a\n");
  write_text(dir / "utt2spk", "u1 anna\nu2 bob\n");
  ImportOptions options = kaldi();
  options.user_suffix = "-A";
  options.agent_suffix = "-B";
  const auto cuts = imported(dir.path().string(), options);
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].id == "c");
  CHECK(cuts[0].find_recording("target_audio")->id == "c-B");
  REQUIRE(cuts[0].supervisions.size() == 2);
  CHECK(cuts[0].supervisions[0].speaker == "agent");
  CHECK(cuts[0].supervisions[0].recording_id == "c-A");
  CHECK(cuts[0].supervisions[1].speaker == "user");
  write_text(dir / "wav.scp", "c-A " + (dir / "a.wav") + "\nd-B " + (dir / "a.wav") + "\n");
  write_text(dir / "segments", "");
  CHECK(holds(message_of([&] { imported(dir.path().string(), options); }), "'c-B' is not in"));
}

TEST_CASE("bad lines of Kaldi's files are named by file and line") {
  const auto message = [](const std::string& name, const std::string& text, int64_t rate_hz = 0) {
    const TemporaryFolder dir;
    write_kaldi(dir);
    write_text(dir / name, text);
    ImportOptions options = kaldi();
    options.sample_rate_hz = rate_hz;
    return message_of([&] { imported(dir.path().string(), options); });
  };
  CHECK(holds(message("segments", "u1 ra 0\n"), "segments:1: 'u1 ra 0'"));
  CHECK(holds(message("segments", "u1 ra 0 x\n"), "[data/kaldi]"));
  CHECK(holds(message("segments", "\nu1 rx 0 1\n"), "segments:2: 'rx' is not in"));
  CHECK(holds(message("segments", "u1 ra 0 1\nu1 ra 1 2\n"), "[data/duplicate-id]"));
  CHECK(holds(message("segments", "u1 ra 1 0.5\n"), "[data/turn-time]"));
  CHECK(holds(message("segments", "u1 ra 1 2.6\n"), "[data/turn-time]"));
  CHECK(holds(message("text", "u1 x\n"), "'u2' is not in"));
  CHECK(holds(message("utt2spk", "u1 x\n"), "'u2' is not in"));
  CHECK(holds(message("wav.scp", "ra\n"), "[data/kaldi]"));
  CHECK(holds(message("wav.scp", "ra /nowhere.wav\nrb /nowhere.wav\n"), "[data/missing-file]"));
  CHECK(holds(message("reco2dur", "ra 2\n"), "'rb' is not in"));
  CHECK(holds(message("reco2dur", "ra two\n"), "RECORDING SECONDS"));
  CHECK(holds(message("reco2dur", "ra 9\nrb 2\n"), "[data/duration]"));
  CHECK(holds(message("spk2gender", "anna f\n", 8000), "[data/sample-rate]"));
  CHECK(holds(message_of([] {
                const TemporaryFolder empty;
                open_importer(empty.path().string(), kaldi());
              }),
              "[data/missing-file]"));
}

TEST_CASE("a Kaldi file with very many bad lines ends at one of them") {
  const TemporaryFolder dir;
  write_kaldi(dir);
  std::string lines;
  for (int i = 0; i < 10'003; ++i) lines += "u1 anna\n";
  write_text(dir / "utt2spk", lines);
  const std::string message = message_of([&] { open_importer(dir.path().string(), kaldi()); });
  CHECK(holds(message, "[data/duplicate-id]"));
  CHECK(holds(message, "utt2spk:10002"));
}

TEST_CASE("a Kaldi directory whose files are named pipes is not waited for") {
  const TemporaryFolder dir;
  REQUIRE(mkfifo((dir / "wav.scp").c_str(), 0600) == 0);
  CHECK(holds(message_of([&] { imported(dir.path().string(), kaldi()); }), "[io/file]"));
}
