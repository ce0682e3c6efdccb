#include "cuts/cut_files.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>

#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "s2s/error.h"

namespace {

using nlohmann::json;
using s2s::test::cut_json;
using s2s::test::TemporaryFolder;
using s2s::test::write_text;

std::string gzipped(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The message of reading a manifest with these lines; "" when it is read.
std::string failure(const std::vector<json>& lines) {
  const TemporaryFolder dir;
  std::string text;
  for (const json& line : lines)
    text += (line.is_string() ? line.get<std::string>() : line.dump()) + "\n";
  write_text(dir / "cuts.jsonl", text);
  try {
    s2s::read_cuts({dir / "cuts.jsonl"});
  } catch (const s2s::Error& error) {
    CHECK(error.exit_code() == s2s::ExitCode::kData);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK_MESSAGE(found, "expected in the message: ", part);
  return found;
}

json good() { return cut_json("d0", 4, "user.wav", "agent.wav"); }

}  // namespace

TEST_CASE("a cut is read with its recordings, turns and words") {
  const TemporaryFolder dir;
  json cut = good();
  cut["start"] = 1.5;
  cut["supervisions"][0]["alignment"] = {{"word", {{"hi", 0.0, 0.25}, {"there", 0.25, 0.5, 0.9}}}};
  cut["custom"]["target_audio"]["sources"][0]["source"] = "/elsewhere/agent.wav";
  write_text(dir / "cuts.jsonl", cut.dump());
  const auto manifest = s2s::read_cuts({dir / "cuts.jsonl"});
  REQUIRE(manifest.cuts.size() == 1);
  CHECK(manifest.warnings.empty());
  const s2s::Cut& read = manifest.cuts[0];
  CHECK(read.id == "d0");
  CHECK(read.start_s == 1.5);
  CHECK(read.duration_s == 4);
  CHECK(read.recording->sources[0].source == dir / "user.wav");
  CHECK(read.recording->sample_rate_hz == 16000);
  CHECK(read.find_recording("target_audio")->sources[0].source == "/elsewhere/agent.wav");
  REQUIRE(read.supervisions.size() == 2);
  CHECK(read.supervisions[0].words()[1].text == "there");
  CHECK(read.supervisions[0].words()[1].end_s() == 0.75);
  CHECK(*read.supervisions[1].text == "hello you");
  CHECK(read.supervisions[1].end_s() == 3);
}

TEST_CASE("gzip with several members, blank lines and a missing last line end are read") {
  const TemporaryFolder dir;
  const auto cut = [](const char* id) { return cut_json(id, 1, "u.wav", "a.wav").dump(); };
  write_text(dir / "cuts.jsonl.gz",
             gzipped(cut("a") + "\n\n") + gzipped(cut("b") + "\r\n" + cut("c")));
  const auto manifest = s2s::read_cuts({dir / "cuts.jsonl.gz"});
  REQUIRE(manifest.cuts.size() == 3);
  CHECK(manifest.cuts[2].id == "c");
  CHECK(manifest.cuts[2].line == 4);
}

TEST_CASE("a gzip file cut off in the middle is [data/gzip]") {
  const TemporaryFolder dir;
  const std::string bytes = gzipped(good().dump() + "\n");
  write_text(dir / "cuts.jsonl.gz", bytes.substr(0, bytes.size() / 2));
  CHECK_THROWS_WITH_AS(s2s::read_cuts({dir / "cuts.jsonl.gz"}), doctest::Contains("[data/gzip]"),
                       s2s::Error);
}

TEST_CASE("a manifest that does not exist is [data/missing-file]") {
  CHECK_THROWS_WITH_AS(s2s::read_cuts({"/nowhere/cuts.jsonl"}),
                       doctest::Contains("[data/missing-file]"), s2s::Error);
}

TEST_CASE("an empty manifest is [data/empty]") { has(failure({}), "[data/empty]"); }

TEST_CASE("a line that is not JSON is [data/json] with file, line and column") {
  const std::string text = failure({good(), R"({"id": "x", "start" 0})"});
  has(text, "[data/json]");
  has(text, "cuts.jsonl:2: ");
  has(text, "column 21");
}

TEST_CASE("NaN and Infinity, which Python writes, are read") {
  const s2s::Cut cut = s2s::parse_cut(
      R"({"id": "x, NaN", "start": 0, "duration": 1, "supervisions": [], "type": "MonoCut",)"
      R"( "custom": {"a": NaN, "b": [-Infinity, "\"NaN", 12345678901234567890123]}})",
      "cuts.jsonl", 1);
  CHECK(cut.id == "x, NaN");
  CHECK(std::isnan(*cut.custom_number("a")));
  CHECK(std::get<s2s::JsonText>(*cut.find_custom("b")).text.substr(0, 20) ==
        R"([-Infinity,"\"NaN",1)");
  has(failure({R"({"id": "x", "start": NaM})"}), "[data/json]");

  std::string many = "[NaN";  // the time is no longer quadratic in them
  for (int i = 1; i < 250000; ++i) many += i % 2 == 0 ? ",NaN" : ",-Infinity";
  many += "]";
  const s2s::Cut wide = s2s::parse_cut(
      R"({"id": "x", "start": 0, "duration": 1, "supervisions": [], "type": "MonoCut",)"
      R"( "custom": {"a": )" +
          many + "}}",
      "cuts.jsonl", 1);
  CHECK(std::get<s2s::JsonText>(*wide.find_custom("a")).text == many);
}

TEST_CASE("fields that are missing or of another type are [data/field]") {
  json cut = good();
  cut["duration"] = "long";
  has(failure({cut}), "[data/field]");
  cut = good();
  cut["recording"].erase("sampling_rate");
  has(failure({cut}), "'recording.sampling_rate' is missing");
  cut = good();
  cut["supervisions"][1]["start"] = json::array();
  has(failure({cut}), "'supervisions[].start' is array []");
  cut = good();
  cut["supervisions"][0]["alignment"] = {{"word", {{{"symbol", "x"}}}}};
  has(failure({cut}), "items of [symbol, start, duration]");
  cut = good();
  cut["recording"]["sources"][0] = "user.wav";
  has(failure({cut}), "'recording.sources[]' is string");
}

TEST_CASE("a sampling rate of zero is [data/sample-rate]") {
  json cut = good();
  cut["recording"]["sampling_rate"] = 0;
  has(failure({cut}), "[data/sample-rate]");
}

TEST_CASE("a duration that is not positive is [data/duration]") {
  json cut = good();
  cut["duration"] = 0;
  has(failure({cut}), "[data/duration]");
}

TEST_CASE("a turn of negative length is [data/turn-time]") {
  json cut = good();
  cut["supervisions"][0]["duration"] = -0.5;
  has(failure({cut}), "[data/turn-time]");
}

TEST_CASE("the second cut of an id is [data/duplicate-id] and names the first") {
  const std::string text = failure({good(), good()});
  has(text, "[data/duplicate-id]");
  has(text, "cuts.jsonl:2: cut 'd0'");
  has(text, "cuts.jsonl:1;");
}

TEST_CASE("other manifests are [data/not-a-cut], other cuts [data/cut-type]") {
  has(failure({good()["recording"]}), "[data/not-a-cut]");
  has(failure({good()["recording"]}), "looks like a recording");
  has(failure({good()["supervisions"][0]}), "a supervision");
  has(failure({json{{"audio_filepath", "x"}, {"duration", 1}}}), "a NeMo manifest line");
  has(failure({json{{"a", 1}}}), "something else");
  has(failure({json::array()}), "JSON of type array");
  has(failure({json{{"id", "m"}, {"tracks", json::array()}, {"type", "TextCut"}}}),
      "[data/cut-type]");
}

TEST_CASE("an audio source of an unknown type is [data/source-type]") {
  json cut = good();
  cut["recording"]["sources"][0]["type"] = "tape";
  has(failure({cut}), "[data/source-type]");
}

TEST_CASE("all bad lines of a manifest are reported together, up to twenty") {
  std::vector<json> lines{good(), "{", "[", "1"};
  CHECK(has(failure(lines), "3 findings"));
  for (int i = 0; i < 40; ++i) lines.emplace_back("{");
  has(failure(lines), "20 findings");
}

TEST_CASE("`path` in place of `sources` and a missing type are read with a warning") {
  const TemporaryFolder dir;
  json cut = good();
  cut.erase("type");
  cut["recording"].erase("sources");
  cut["recording"]["path"] = "user.wav";
  write_text(dir / "cuts.jsonl", cut.dump());
  const auto manifest = s2s::read_cuts({dir / "cuts.jsonl"});
  CHECK(manifest.cuts[0].recording->sources[0].source == dir / "user.wav");
  REQUIRE(manifest.warnings.size() == 2);
  CHECK(manifest.warnings[0].find("'path' in place of 'sources'") != std::string::npos);
}

TEST_CASE("bad lines are one message with file and line each") {
  const auto of_line = [](const std::string& line, const char* id) {
    const std::string text = failure({line});
    has(text, id);
    has(text, "cuts.jsonl:1: ");
    CHECK(text.find('\n') == std::string::npos);
  };
  of_line(R"({"id": "x", "duration": 1})", "[data/not-a-cut]");
  of_line(R"({"duration": 1, "supervisions": [], "type": "MonoCut"})", "'id' is missing");
  of_line(R"({"id": 7, "duration": 1, "supervisions": [], "type": "MonoCut"})", "[data/field]");
  of_line(R"({"id": "x", "supervisions": [], "type": "MonoCut"})", "'duration' is missing");
  of_line(R"({"id": "x", "duration": NaN, "supervisions": [], "type": "MonoCut"})",
          "[data/duration]");
  of_line(R"({"id": "x", "duration": 1, "supervisions": {}, "type": "MonoCut"})", "a list");
  of_line("{\"id\": \"\xff\xfe\", \"duration\": 1}", "[data/json]");
  of_line(std::string(1500, '[') + std::string(1500, ']'), "nested deeper");
  // Deep enough to overflow the stack of a recursive parser, after a part that another one reads.
  const std::string nest = std::string(300'000, '[') + std::string(300'000, ']');
  of_line(R"({"id": NaN, "x": )" + nest + "}", "nested deeper");
  of_line(R"({"id": 123456789012345678901234567890, "x": )" + nest + "}", "nested deeper");
  of_line(R"({"id": 123456789012345678901234567890, "x": )" + std::string(200, '[') +
              std::string(200, ']') + "}",
          "nested deeper than 128");
  of_line(R"({"id": "x", "tracks": [], "type": "MixedCut"})",
          "'tracks' is array []; expected a list of tracks");
  of_line(R"({"id": "x", "tracks": [{"type": "MonoCut"}], "type": "MixedCut"})",
          "'tracks[].cut' is missing");
  json cut = good();
  cut["recording"]["sampling_rate"] = -16000;
  of_line(cut.dump(), "[data/sample-rate]");
  cut = good();
  cut["recording"]["sources"][0] = {
      {"type", "shar_ptr"}, {"channels", {0}}, {"source", "a.tar?o=9&e=3"}};
  of_line(cut.dump(), "TAR?o=BEGIN&e=END");
}

TEST_CASE("a cut of ten hours is read") {
  json cut = good();
  cut["duration"] = 36000.0;
  CHECK(failure({cut}).empty());
}

TEST_CASE("a mixed cut has the duration and the turns of its audible tracks") {
  json first = good();
  json second = good();
  first["custom"]["name"] = "first";
  const json mix = {{"id", "m"},
                    {"type", "MixedCut"},
                    {"tracks",
                     {{{"cut", first}, {"type", "MonoCut"}, {"offset", 0.0}},
                      {{"cut", second}, {"type", "MonoCut"}, {"offset", 2.5}, {"snr", 10}},
                      {{"cut", second}, {"type", "MonoCut"}, {"offset", 9}, {"mute", true}}}}};
  s2s::Cut cut = s2s::parse_cut(mix.dump(), "cuts.jsonl", 1);
  CHECK(cut.duration_s == 6.5);
  CHECK(cut.sample_rate_hz() == 16000);
  REQUIRE(cut.supervisions.size() == 4);
  CHECK(cut.supervisions[3].start_s == 4.5);
  CHECK(cut.tracks[1].snr_db == 10.0);
  CHECK(cut.custom_text("name") == "first");
  CHECK(cut.find_recording("target_audio") != nullptr);
  cut.set_custom("name", s2s::JsonText{"[1,2]"});
  CHECK(cut.custom_integers("name") == std::vector<int64_t>{1, 2});
  cut.erase_custom("name");
  CHECK(cut.find_custom("name") == nullptr);
}
