#include "convert/transcript.h"
#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

std::vector<Spoken> subtitles(const std::string& name, const std::string& text) {
  const TemporaryFolder dir;
  return read_transcript(dir.write(name, text), 100).spoken;
}

}  // namespace

TEST_CASE("SubRip files are read, with their tags left out and lines joined") {
  const auto spoken =
      subtitles("a.srt",
                "\xef\xbb\xbf"
                "1\r\n00:00:01,500 --> 00:00:02,250\r\n<i>Hello</i>\r\nthere\r\n\r\n"
                "2\r\n00:01:03,000 --> 00:01:04,000 X1:0 X2:9\r\n{\\an8}Bye &amp; out\r\n"
                "\r\n3\r\n00:01:05,000 --> 00:01:06,000\r\n\r\n");
  REQUIRE(spoken.size() == 2);
  CHECK(spoken[0].text == "Hello there");
  CHECK(spoken[0].start_s == doctest::Approx(1.5));
  CHECK(spoken[0].end_s == doctest::Approx(2.25));
  CHECK(spoken[0].speaker.empty());
  CHECK(spoken[1].text == "Bye & out");
  CHECK(spoken[1].start_s == doctest::Approx(63));
}

TEST_CASE("WebVTT files are read, with the speakers of their voice tags") {
  const auto spoken = subtitles(
      "a.vtt",
      "WEBVTT - title\n\nNOTE a remark\nof two lines\n\nSTYLE\n::cue { color: red }\n\n"
      "intro\n00:01.000 --> 00:02.500 align:start position:0%\n<v Ann>Hi <c.loud>you</c>\n\n"
      "1:00:00.250 --> 1:00:01.000\n<v.first Bob Roe>two <00:00:01.000>words</v>\n");
  REQUIRE(spoken.size() == 2);
  CHECK(spoken[0].speaker == "Ann");
  CHECK(spoken[0].text == "Hi you");
  CHECK(spoken[0].start_s == doctest::Approx(1));
  CHECK(spoken[1].speaker == "Bob Roe");
  CHECK(spoken[1].text == "two words");
  CHECK(spoken[1].start_s == doctest::Approx(3600.25));
}

TEST_CASE("a line of times that cannot be read is an error with its place") {
  for (const char* times : {"00:00:01,5 -> 2", "a --> b", "1 --> 2", "00:00:01,000 -->",
                            "0:0:0:1 --> 0:0:0:2", "00:00:1,2,3 --> 00:00:02,000"}) {
    CAPTURE(times);
    const std::string text = std::string("1\n") + times + "\nx\n";
    const bool has_arrow = text.find("-->") != std::string::npos;
    const std::string message = message_of([&] { subtitles("a.srt", text); });
    CHECK(holds(message, "[data/transcript]") == has_arrow);
    if (has_arrow) {
      CHECK(holds(message, "a.srt:2"));
      CHECK(holds(message, "HH:MM:SS,mmm --> HH:MM:SS,mmm"));
    }
  }
}

TEST_CASE("subtitles beside a recording become turns") {
  const TemporaryFolder dir;
  write_seconds(dir / "s/a.wav", 8000, 3, 2);
  write_text(
      dir / "s/a.vtt",
      "WEBVTT\n\n00:00.500 --> 00:01.000\n<v agent>Yes?\n\n00:01.500 --> 00:02.500\n<v user>No.\n");
  const auto cuts = imported(dir / "s", {});
  REQUIRE(cuts.size() == 1);
  REQUIRE(cuts[0].supervisions.size() == 2);
  CHECK(cuts[0].supervisions[0].speaker == "agent");
  CHECK(cuts[0].supervisions[0].text == "Yes?");
  CHECK(cuts[0].supervisions[1].speaker == "user");
  CHECK(cuts[0].supervisions[1].start_s == doctest::Approx(1.5));
}
