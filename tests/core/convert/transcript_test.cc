#include "convert/transcript.h"

#include <sys/stat.h>

#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

std::vector<Spoken> read(const std::string& name, const std::string& text) {
  const TemporaryFolder dir;
  return read_transcript(dir.write(name, text), 10).spoken;
}

constexpr const char* kLongGrid = R"(File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.5
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 0.5
            text = ""
        intervals [2]:
            xmin = 0.5
            xmax = 1.25
            text = "say ""hi"""
        intervals [3]:
            xmin = 1.25
            xmax = 2.5
            text = "there"
    item [2]:
        class = "IntervalTier"
        name = "phones"
        xmin = 0
        xmax = 2.5
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 2.5
            text = "x"
)";

constexpr const char* kShortGrid = R"("ooTextFile"
"TextGrid"
0
2
<exists>
3
"IntervalTier"
"anna"
0
2
2
0
0.75
"hello"
0.75
2
""
"TextTier"
"marks"
0
2
1
0.4
"click"
"IntervalTier"
"bob"
0
2
1
1
2
"yes"
)";

std::string as_utf16(const std::string& text) {
  std::string out = "\xFF\xFE";
  for (const char c : text) out += {c, '\0'};
  return out;
}

}  // namespace

TEST_CASE("Moshi's alignments are words with speakers") {
  const auto spoken = read(
      "a.json", R"({"alignments": [["hi", [0.5, 1], "SPEAKER_MAIN"], ["yo", [1, 2.5], "B"]]})");
  REQUIRE(spoken.size() == 2);
  CHECK(spoken[0].speaker == "SPEAKER_MAIN");
  CHECK(spoken[1].end_s == 2.5);
  CHECK(spoken[1].words[0].duration_s == 1.5);
}

TEST_CASE("Whisper's segments are stretches with words; words without times are left out") {
  const auto spoken = read("a.json", R"({"segments": [{"start": 0, "end": 2, "text": " one 2",
      "speaker": "S0", "words": [{"word": " one", "start": 0.1, "end": 0.5}, {"word": "2"}]}]})");
  REQUIRE(spoken.size() == 1);
  CHECK(spoken[0].speaker == "S0");
  CHECK(spoken[0].text == " one 2");
  REQUIRE(spoken[0].words.size() == 1);
  CHECK(spoken[0].words[0].text == "one");
  CHECK(read("a.json", R"([{"start": 1, "end": 2, "text": "x"}])").size() == 1);
}

TEST_CASE("a text alone lasts as long as the audio") {
  const auto json = read("a.json", R"({"text": "all of it"})");
  REQUIRE(json.size() == 1);
  CHECK(json[0].end_s == 10);
  const auto plain = read("a.txt", "two\n lines\n");
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].text == "two lines");
  CHECK(plain[0].end_s == 10);
}

TEST_CASE("Audacity's labels are stretches") {
  const auto spoken = read("a.txt", "0.5\t1.25\thello you\r\n2\t3\tbye\n");
  REQUIRE(spoken.size() == 2);
  CHECK(spoken[0].text == "hello you");
  CHECK(spoken[1].start_s == 2);
}

TEST_CASE("a long TextGrid's words are read, its phones and silences are not") {
  for (const std::string& text : {std::string(kLongGrid), as_utf16(kLongGrid)}) {
    const auto spoken = read("a.TextGrid", text);
    REQUIRE(spoken.size() == 2);
    CHECK(spoken[0].text == "say \"hi\"");
    CHECK(spoken[0].start_s == 0.5);
    CHECK(spoken[1].end_s == 2.5);
  }
}

TEST_CASE("a short TextGrid's tiers are speakers, points are left out") {
  const auto spoken = read("a.TextGrid", kShortGrid);
  REQUIRE(spoken.size() == 2);
  CHECK(spoken[0].speaker == "anna");
  CHECK(spoken[0].text == "hello");
  CHECK(spoken[1].speaker == "bob");
}

TEST_CASE("a transcript that is not one says where and what was expected") {
  const auto message = [](const std::string& name, const std::string& text) {
    return message_of([&] { read(name, text); });
  };
  CHECK(holds(message("a.json", "{"), "[data/transcript]"));
  CHECK(holds(message("a.json", "{}"), "no 'alignments', 'segments' or 'text'"));
  CHECK(holds(message("a.json", "3"), "[data/transcript]"));
  CHECK(holds(message("a.json", R"({"alignments": [["x", 1, 2]]})"), "alignments[0]"));
  CHECK(holds(message("a.json", R"({"segments": [{"text": "x"}]})"), "segments[0]"));
  CHECK(holds(message("a.json", R"({"segments": 3})"), "segments"));
  CHECK(holds(message("a.TextGrid", "hello"), "[data/transcript]"));
  CHECK(holds(message("a.TextGrid", std::string(kLongGrid).substr(0, 400)), "a.TextGrid:"));
}

TEST_CASE("the transcript beside a file is found by its ending") {
  const TemporaryFolder dir;
  CHECK_FALSE(find_transcript(dir / "x.wav"));
  dir.write("x.txt", "a");
  CHECK(find_transcript(dir / "x.wav") == dir / "x.txt");
  dir.write("x.json", "{}");
  CHECK(find_transcript(dir / "x.wav") == dir / "x.json");
}

TEST_CASE("a transcript that is a named pipe or is nested without end is one message") {
  const TemporaryFolder dir;
  const std::string pipe = dir / "x.json";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(holds(message_of([&] { read_transcript(pipe, 10); }), pipe));
  const std::string deep = dir.write("deep.json", std::string(300'000, '['));
  const std::string message = message_of([&] { read_transcript(deep, 10); });
  CHECK_MESSAGE(holds(message, "nested deeper than 128"), message);
}
