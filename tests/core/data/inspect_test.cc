#include "data/inspect.h"

#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/data/data_files.h"
#include "core/data/table_tokenizer.h"
#include "s2s/cut_files.h"

namespace {

using s2s::test::cut_json;
using s2s::test::ramp;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

std::vector<s2s::Cut> read(const TemporaryFolder& dir, const std::vector<nlohmann::json>& cuts) {
  std::string lines;
  for (const auto& cut : cuts) lines += cut.dump() + "\n";
  s2s::test::write_text(dir / "cuts.jsonl", lines);
  return s2s::read_cuts({dir / "cuts.jsonl"}).cuts;
}

}  // namespace

TEST_CASE("hours, turns, gaps and overlaps of a set are counted") {
  const TemporaryFolder dir;
  auto second = cut_json("b", 8, "u.wav", "a.wav");
  second["supervisions"][1]["start"] = 1.85;  // the user speaks until 2.0
  second["supervisions"].push_back(s2s::test::turn_json("narrator", 7, 0.5, "the end"));
  const auto cuts = read(dir, {cut_json("a", 4, "u.wav", "a.wav"), second});
  const auto report = s2s::data::inspect_cuts(cuts, {}, s2s::test::TableTokenizer());
  CHECK(report.num_cuts == 2);
  CHECK(report.hours == doctest::Approx(12.0 / 3600));
  REQUIRE(report.speakers.size() == 3);
  CHECK(report.speakers[1].speaker == "agent");
  CHECK(report.speakers[1].role == "agent");
  CHECK(report.speakers[1].turns == 2);
  CHECK(report.speakers[1].words == 4);
  CHECK(report.speakers[2].role == "none");
  CHECK(report.durations.counts[3] == 1);  // [3, 5)
  CHECK(report.durations.counts[5] == 1);  // [8, 10)
  CHECK(report.gaps.counts[5] == 1);       // [0.8, 1.2): from 1 s to 2 s
  CHECK(report.overlaps.counts[1] == 1);   // 0.15 s
  CHECK(report.agent_text.turns == 2);
  CHECK(report.unsuitable.empty());
}

TEST_CASE("words that the tokenizer writes as silence are counted") {
  const TemporaryFolder dir;
  auto cut = cut_json("a", 4, "u.wav", "a.wav");
  cut["supervisions"][0]["text"] = "turn on the zyx";
  using Table = std::map<std::string, std::vector<int64_t>>;
  const s2s::test::TableTokenizer tokenizer(Table{{"zyx", {0}}});
  const auto report = s2s::data::inspect_cuts(read(dir, {cut}), {}, tokenizer);
  CHECK(report.speakers[0].words == 4);
  CHECK(report.speakers[0].unknown_words == 1);
  CHECK(report.speakers[1].unknown_words == 0);
}

TEST_CASE("cuts that do not suit a duplex model are named") {
  const TemporaryFolder dir;
  auto cut = cut_json("a", 4, "u.wav", "a.wav");
  cut["custom"].clear();
  const auto report = s2s::data::inspect_cuts(read(dir, {cut}), {}, s2s::test::TableTokenizer());
  REQUIRE(report.unsuitable.size() == 1);
  CHECK(report.unsuitable[0].find("[data/no-target]") != std::string::npos);
}

TEST_CASE("unreadable, silent and clipped audio is found, whatever the number of threads") {
  const TemporaryFolder dir;
  write_audio(dir / "good.wav", 16000, ramp(16000));
  write_audio(dir / "good22.wav", 22050, ramp(22050));
  write_audio(dir / "silent.wav", 16000, std::vector<float>(16000, 0.F));
  auto clipped = ramp(22050);
  std::fill(clipped.begin() + 100, clipped.begin() + 105, 32767.F / 32768.F);
  write_audio(dir / "clipped.wav", 22050, clipped);
  const auto cuts = read(dir, {cut_json("a", 1, "good.wav", "good22.wav"),
                               cut_json("b", 1, "silent.wav", "clipped.wav"),
                               cut_json("c", 1, "gone.wav", "good22.wav")});
  for (const int64_t threads : {1, 3}) {
    int64_t last = 0;
    const auto problems = s2s::data::scan_audio(cuts, threads, [&](int64_t done) { last = done; });
    CHECK(last == 3);
    REQUIRE(problems.size() == 3);
    CHECK(problems[0].kind == "silent");
    CHECK(problems[0].which == "user");
    CHECK(problems[1].kind == "clipped");
    CHECK(problems[1].detail == "5 samples, 0.02 %");
    CHECK(problems[2].kind == "unreadable");
    CHECK(problems[2].cut.find("cut 'c'") != std::string::npos);
  }
}

TEST_CASE("a batch's channels are drawn frame by frame, silence as dots") {
  const TemporaryFolder dir;
  const auto cuts = read(dir, {cut_json("a", 1, "u.wav", "a.wav")});
  const s2s::test::TableTokenizer tokenizer;
  const std::string drawn = s2s::data::draw_channels({{{{&cuts[0], 0}}, 0}}, {}, tokenizer);
  INFO(drawn);
  CHECK(drawn.find("a: 13 frames, 1.04 s") == 0);
  CHECK(drawn.find("     0.00     0  u   <BOS>") != std::string::npos);
  CHECK(drawn.find("     0.48     6  a   .                       <BOS>") != std::string::npos);
  CHECK(drawn.find("      ...\n") != std::string::npos);
}
