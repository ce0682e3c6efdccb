// Pairs of wav files, and stereo files.

#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

TEST_CASE("two folders of files with the same names are pairs") {
  const TemporaryFolder dir;
  write_seconds(dir / "user/x/1.wav", 16000, 2);
  write_seconds(dir / "agent/x/1.flac.wav", 22050, 2);
  std::filesystem::rename(dir / "agent/x/1.flac.wav", dir / "agent/x/1.wav");
  write_text(dir / "user/x/1.json", R"({"alignments": [["hi", [0.1, 0.5], "SPEAKER_MAIN"]]})");
  write_text(dir / "agent/x/1.txt", "1\t1.5\thello you\n");
  CHECK(detect_import(dir.path().string(), {}) == "wav-pairs");
  const auto cuts = imported(dir.path().string(), {});
  REQUIRE(cuts.size() == 1);
  const Cut& cut = cuts[0];
  CHECK(cut.id == "x/1");
  CHECK(cut.duration_s == 2);
  CHECK(cut.recording->id == "x/1-user");
  CHECK(cut.recording->sample_rate_hz == 16000);
  REQUIRE(cut.find_recording("target_audio") != nullptr);
  CHECK(cut.find_recording("target_audio")->sample_rate_hz == 22050);
  REQUIRE(cut.supervisions.size() == 2);
  CHECK(cut.supervisions[0].speaker == "user");
  CHECK(cut.supervisions[0].words().size() == 1);
  CHECK(cut.supervisions[1].speaker == "agent");
  CHECK(cut.supervisions[1].text == "hello you");
  CHECK(cut.supervisions[1].recording_id == "x/1-user");
}

TEST_CASE("names that end with the speaker are pairs, with one transcript for both") {
  const TemporaryFolder dir;
  write_seconds(dir / "b_human.wav", 8000, 2);
  write_seconds(dir / "b_bot.wav", 8000, 2.25);
  write_text(dir / "b.json", R"({"segments": [
      {"start": 0, "end": 1, "text": "q", "speaker": "human"},
      {"start": 1, "end": 2, "text": "a", "speaker": "bot"}]})");
  ImportOptions options;
  options.user = "human";
  options.agent = "bot";
  CHECK(detect_import(dir.path().string(), options) == "wav-pairs");
  const auto cuts = imported(dir.path().string(), options);
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].id == "b");
  CHECK(cuts[0].duration_s == 2);  // the shorter one; half a second of difference is allowed
  REQUIRE(cuts[0].supervisions.size() == 2);
  CHECK(cuts[0].supervisions[0].speaker == "user");
  CHECK(cuts[0].supervisions[1].speaker == "agent");
}

TEST_CASE("pairs that are none, are ambiguous, differ in length or have two channels are errors") {
  const TemporaryFolder dir;
  const auto message = [&](ImportOptions options = {}) {
    return message_of([&] { imported(dir.path().string(), options); });
  };
  CHECK(holds(message(), "[data/convert-source]"));
  write_seconds(dir / "a_user.wav", 8000, 2);
  CHECK(holds(message(), "[data/convert-pair]"));
  write_seconds(dir / "a_agent.wav", 8000, 3);
  CHECK(holds(message(), "[data/convert-lengths]"));
  ImportOptions shorter;
  shorter.lengths = Lengths::kShorter;
  CHECK(imported(dir.path().string(), shorter)[0].duration_s == 2);
  write_seconds(dir / "a-agent.wav", 8000, 2);
  CHECK(holds(message(), "[data/convert-pair]"));
  std::filesystem::remove(dir / "a-agent.wav");
  write_seconds(dir / "a_agent.wav", 8000, 2, 2);
  CHECK(holds(message(), "[data/channel]"));
  write_text(dir / "a_agent.wav", "no audio");
  CHECK(holds(message(), "[data/unreadable-audio]"));
  CHECK(holds(message_of([] { open_importer("/nowhere/at/all", {}); }), "[data/missing-file]"));
}

TEST_CASE("stereo files with Moshi's alignments have the agent on channel 0") {
  const TemporaryFolder dir;
  write_seconds(dir / "s/a.wav", 24000, 3, 2);
  write_text(dir / "s/a.json", R"({"alignments": [["how", [0, 0.2], "SPEAKER_MAIN"],
      ["are", [0.3, 0.5], "SPEAKER_MAIN"], ["good", [1.5, 2], "SPEAKER_1"]],
      "text_conditions": {"mood": "calm"}})");
  CHECK(detect_import(dir / "s", {}) == "stereo");
  const auto cuts = imported(dir / "s", {});
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].channels == std::vector<int64_t>{1});
  CHECK(cuts[0].recording->sources[0].channels == std::vector<int64_t>{0, 1});
  CHECK(cuts[0].custom_integers("target_audio_channel_selector") == std::vector<int64_t>{0});
  CHECK(std::get<JsonText>(*cuts[0].find_custom("text_conditions")).text == R"({"mood":"calm"})");
  REQUIRE(cuts[0].supervisions.size() == 2);
  CHECK(cuts[0].supervisions[0].speaker == "agent");
  CHECK(cuts[0].supervisions[0].text == "how are");
  CHECK(cuts[0].supervisions[0].channels == cuts[0].channels);
  CHECK(cuts[0].supervisions[1].speaker == "user");
}

TEST_CASE("Moshi's list of files is read line by line") {
  const TemporaryFolder dir;
  write_seconds(dir / "s/a.wav", 24000, 1, 2);
  write_seconds(dir / "s/b.wav", 24000, 1, 1);
  write_text(dir / "list.jsonl",
             "{\"path\": \"s/a.wav\", \"duration\": 1.0}\n\n{\"path\": 3}\n"
             "{\"path\": \"s/b.wav\"}\n{\"path\": \"s/a.wav\", \"duration\": 9}\n");
  CHECK(detect_import(dir / "list.jsonl", {}) == "moshi");
  const auto importer = open_importer(dir / "list.jsonl", {});
  CHECK(importer->size() == 4);
  CHECK(importer->next()->make()[0].id == "s/a");
  CHECK(holds(message_of([&] { importer->next(); }), "list.jsonl:3"));
  CHECK(holds(message_of([&] { importer->next()->make(); }), "[data/channel]"));
  const std::string message = message_of([&] { importer->next()->make(); });
  CHECK(holds(message, "[data/duration]"));
  CHECK(holds(message, "list.jsonl:5"));
  CHECK_FALSE(importer->next());
}

TEST_CASE("other channels are chosen; one file alone is a source") {
  const TemporaryFolder dir;
  write_seconds(dir / "a.wav", 8000, 1, 3);
  ImportOptions options;
  options.agent_channel = 2;
  options.user_channel = 0;
  const auto cuts = imported(dir / "a.wav", options);
  CHECK(cuts[0].id == "a");
  CHECK(cuts[0].channels == std::vector<int64_t>{0});
  CHECK(cuts[0].custom_integers("target_audio_channel_selector") == std::vector<int64_t>{2});
  CHECK(cuts[0].supervisions.empty());
}
