#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;
using nlohmann::json;

namespace {

json supervision_json(const std::string& id, const std::string& recording, int channel,
                      double start_s) {
  return {{"id", id},           {"recording_id", recording}, {"start", start_s},
          {"duration", 0.5},    {"channel", channel},        {"text", "t-" + id},
          {"speaker", "s" + id}};
}

json recording(const std::string& id, std::vector<int> channels) {
  json object = recording_json("a.wav", 8000, 2, std::move(channels));
  object["id"] = id;
  return object;
}

}  // namespace

TEST_CASE("lhotse's recordings and supervisions become cuts, two channels a dialogue") {
  const TemporaryFolder dir;
  write_text(dir / "recordings.jsonl",
             recording("mono", {0}).dump() + "\n" + recording("two", {0, 1}).dump() + "\n");
  write_text(dir / "supervisions.jsonl", supervision_json("1", "two", 1, 1).dump() + "\n" +
                                             supervision_json("2", "mono", 0, 0).dump() + "\n" +
                                             supervision_json("3", "two", 0, 0.5).dump() + "\n");
  CHECK(detect_import(dir / "recordings.jsonl", {}) == "lhotse");
  const auto cuts = imported(dir / "recordings.jsonl", {});
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[0].id == "mono-0");
  CHECK(cuts[0].supervisions.at(0).speaker == "s2");
  CHECK(cuts[0].find_recording("target_audio") == nullptr);
  CHECK(cuts[1].id == "two-1");
  CHECK(cuts[1].kind == Cut::Kind::kMono);
  CHECK(cuts[1].channels == std::vector<int64_t>{1});
  REQUIRE(cuts[1].supervisions.size() == 2);
  CHECK(cuts[1].supervisions[0].speaker == "agent");
  CHECK(cuts[1].supervisions[0].id == "3");
  CHECK(cuts[1].supervisions[1].speaker == "user");
  CHECK(cuts[1].supervisions[1].channels == cuts[1].channels);
}

TEST_CASE("supervisions of no recording and bad lines are named by file and line") {
  const TemporaryFolder dir;
  write_text(dir / "recordings.jsonl", recording("a", {0}).dump() + "\n{\"id\": \"b\"}\n");
  write_text(dir / "s.jsonl", supervision_json("1", "x", 0, 0).dump() + "\n");
  ImportOptions options;
  options.supervisions = dir / "s.jsonl";
  const auto importer = open_importer(dir / "recordings.jsonl", options);
  CHECK(importer->next()->make().size() == 1);
  CHECK(holds(message_of([&] { importer->next()->make(); }), "recordings.jsonl:2"));
  const std::string message = message_of([&] { importer->next(); });
  CHECK(holds(message, "s.jsonl:1: the recording 'x'"));
  CHECK_FALSE(importer->next());
  options.supervisions = dir / "gone.jsonl";
  CHECK(holds(message_of([&] { open_importer(dir / "recordings.jsonl", options); }),
              "[data/missing-file]"));
}

TEST_CASE("a NeMo manifest becomes the cuts of NeMo's loader, also through an input_cfg") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(32000));
  const std::string line = R"({"audio_filepath": "a.wav", "duration": 1.0, "offset": 0.5, )"
                           R"("sampling_rate": 16000, "text": "hi", "lang": "en", "domain": "x"})";
  write_text(dir / "m.json", line + "\n");
  write_text(dir / "input.yaml",
             "- type: nemo\n  manifest_filepath: m.json\n  tags: {mood: calm}\n");
  CHECK(detect_import(dir / "m.json", {}) == "nemo");
  CHECK(detect_import(dir / "input.yaml", {}) == "input_cfg");
  const auto cuts = imported(dir / "m.json", {});
  REQUIRE(cuts.size() == 1);
  CHECK(cuts[0].start_s == 0.5);
  CHECK(cuts[0].duration_s == 1);
  CHECK(cuts[0].supervisions.at(0).text == "hi");
  CHECK(cuts[0].custom_text("domain") == "x");
  const auto tagged = imported(dir / "input.yaml", {});
  REQUIRE(tagged.size() == 1);
  CHECK(tagged[0].id == cuts[0].id);
  CHECK(tagged[0].custom_text("mood") == "calm");
  write_text(dir / "m.json", line + "\n{\"audio_filepath\": 3}\n");
  CHECK_FALSE(message_of([&] { imported(dir / "m.json", {}); }).empty());
}
