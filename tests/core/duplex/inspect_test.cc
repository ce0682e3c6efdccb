#include "duplex/inspect.h"

#include <doctest/doctest.h>

#include "common/failing_threads.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/duplex/table_tokenizer.h"
#include "cuts/cut_files.h"

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

s2s::data::SetReport inspect(const std::vector<s2s::Cut>& cuts, const s2s::Tokenizer& tokenizer,
                             const s2s::data::BucketOptions& buckets = {}) {
  s2s::data::SetInspector inspector({}, tokenizer, buckets);
  for (const s2s::Cut& cut : cuts) inspector.add(cut);
  return inspector.report();
}

s2s::data::CutList shared(const std::vector<s2s::Cut>& cuts) {
  s2s::data::CutList list;
  for (const s2s::Cut& cut : cuts) list.push_back(std::make_shared<const s2s::Cut>(cut));
  return list;
}

}  // namespace

TEST_CASE("hours, turns, gaps and overlaps of a set are counted") {
  const TemporaryFolder dir;
  auto second = cut_json("b", 8, "u.wav", "a.wav");
  second["supervisions"][1]["start"] = 1.85;  // the user speaks until 2.0
  second["supervisions"].push_back(s2s::test::turn_json("narrator", 7, 0.5, "the end"));
  const auto cuts = read(dir, {cut_json("a", 4, "u.wav", "a.wav"), second});
  const auto report = inspect(cuts, s2s::test::TableTokenizer());
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
  CHECK(report.user_audio.sample_rates == std::map<int64_t, int64_t>{{16000, 2}});
  CHECK(report.agent_audio.channels == std::map<int64_t, int64_t>{{1, 2}});
  CHECK(report.agent_audio.formats == std::map<std::string, int64_t>{{"wav file", 2}});
}

TEST_CASE("text with more tokens than its turn has frames is named") {
  const TemporaryFolder dir;
  auto cut = cut_json("a", 4, "u.wav", "a.wav");
  cut["supervisions"][1]["duration"] = 0.16;  // two frames for BOS and "hello you"
  const auto report = inspect(read(dir, {cut}), s2s::test::TableTokenizer());
  REQUIRE(report.long_texts.size() == 1);
  CHECK(report.long_texts[0].frames == 2);
  CHECK(report.long_texts[0].tokens == 3);
  CHECK(report.long_texts[0].turn.find("cut 'a', turn 'agent") != std::string::npos);
  CHECK(report.agent_text.long_turns == 1);
}

TEST_CASE("repeated ids are counted, the first with both lines") {
  const TemporaryFolder dir;
  auto cuts = read(dir, {cut_json("a", 4, "u.wav", "a.wav")});
  const s2s::test::TableTokenizer tokenizer;
  s2s::data::SetInspector inspector({}, tokenizer, {});
  inspector.add(cuts[0]);
  CHECK(inspector.report().num_duplicate_ids == 0);
  cuts[0].line = 7;
  inspector.add(cuts[0]);
  cuts[0].line = 8;
  inspector.add(cuts[0]);
  const s2s::data::SetReport report = inspector.report();
  CHECK(report.num_cuts == 3);
  CHECK(report.num_duplicate_ids == 2);
  CHECK(report.first_duplicate_id.find("[data/duplicate-id]") == 0);
  CHECK(report.first_duplicate_id.find("cuts.jsonl:7") != std::string::npos);
  CHECK(report.first_duplicate_id.find("cuts.jsonl:1") != std::string::npos);
}

TEST_CASE("buckets count cuts, batches and padding, for given and for estimated bins") {
  using s2s::data::BucketInspector;
  using s2s::data::BucketOptions;
  BucketOptions given;
  given.bins = {2, 4};
  given.limits.max_length = 8;
  BucketInspector inspector(given);
  for (const double duration_s : {1.0, 2.0, 3.0, 2.0, 5.0, 4.0, 2.0, 2.0})
    inspector.add(duration_s);
  const auto report = inspector.report();
  REQUIRE(report.lines.size() == 3);
  CHECK_FALSE(report.are_estimated);
  CHECK(report.lines[0].cuts == 5);
  CHECK(report.lines[0].batches == 2);  // 1 2 2 2 | 2
  CHECK(report.lines[0].padded_hours == doctest::Approx(10.0 / 3600));
  CHECK(report.lines[1].batches == 1);  // 3 4
  CHECK(report.lines[2].cuts == 1);
  CHECK(report.lines[2].upper_s == 5);
  CHECK(report.padding_share() == doctest::Approx(1 - 21.0 / 23.0));
  CHECK(report.unsorted_padding_share > report.padding_share());

  BucketOptions estimated;
  estimated.num_buckets = 3;
  estimated.limits.max_cuts = 2;
  BucketInspector few(estimated);
  CHECK(few.report().lines.size() == 1);
  CHECK(few.report().padding_share() == 0);
  for (int i = 1; i <= 30; ++i) few.add(i);
  CHECK(few.report().are_estimated);
  CHECK(few.report().bins.size() == 2);
  CHECK(few.report().lines.size() == 3);
  int64_t cuts = 0;
  for (const auto& line : few.report().lines) cuts += line.cuts;
  CHECK(cuts == 30);

  BucketOptions fixed = given;
  fixed.batch_sizes = {4, 2, 1};
  BucketInspector sizes(fixed);
  for (int i = 0; i < 8; ++i) sizes.add(1.5);
  CHECK(sizes.report().lines[0].batches == 2);
}

TEST_CASE("words that the tokenizer writes as silence are counted") {
  const TemporaryFolder dir;
  auto cut = cut_json("a", 4, "u.wav", "a.wav");
  cut["supervisions"][0]["text"] = "turn on the zyx";
  using Table = std::map<std::string, std::vector<int64_t>>;
  const s2s::test::TableTokenizer tokenizer(Table{{"zyx", {0}}});
  const auto report = inspect(read(dir, {cut}), tokenizer);
  CHECK(report.speakers[0].words == 4);
  CHECK(report.speakers[0].unknown_words == 1);
  CHECK(report.speakers[1].unknown_words == 0);
}

TEST_CASE("cuts that do not suit a duplex model are named") {
  const TemporaryFolder dir;
  auto cut = cut_json("a", 4, "u.wav", "a.wav");
  cut["custom"].clear();
  const auto report = inspect(read(dir, {cut}), s2s::test::TableTokenizer());
  REQUIRE(report.unsuitable.size() == 1);
  CHECK(report.unsuitable[0].find("[data/no-target]") != std::string::npos);
}

TEST_CASE("a cut of more than a day is named, and its frames are not counted") {
  const TemporaryFolder dir;
  const auto report =
      inspect(read(dir, {cut_json("a", 1e15, "u.wav", "a.wav")}), s2s::test::TableTokenizer());
  REQUIRE(!report.unsuitable.empty());
  CHECK(report.unsuitable[0].find("[data/too-long]") != std::string::npos);
  CHECK(report.agent_text.turns == 0);
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
    const auto problems = s2s::data::scan_audio(shared(cuts), {}, threads, [&](int64_t done) {
                            last = done;
                          }).problems;
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

TEST_CASE("audio of cuts of more than a day is not scanned") {
  const TemporaryFolder dir;
  write_audio(dir / "good.wav", 16000, ramp(16000));
  write_audio(dir / "good22.wav", 22050, ramp(22050));
  auto endless = cut_json("a", 90000, "good.wav", "good22.wav");
  endless["custom"]["target_audio_unaligned"] = true;
  const auto cuts = read(dir, {endless, cut_json("b", 1, "good.wav", "gone.wav")});
  int64_t last = 0;
  const auto problems =
      s2s::data::scan_audio(shared(cuts), {}, 1, [&](int64_t done) { last = done; }).problems;
  CHECK(last == 2);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].cut.find("cut 'b'") != std::string::npos);
}

TEST_CASE("what a scanning thread throws reaches the caller; so does a thread that cannot start") {
  const TemporaryFolder dir;
  write_audio(dir / "good.wav", 16000, ramp(16000));
  write_audio(dir / "good22.wav", 22050, ramp(22050));
  const auto cuts = shared(read(dir, {cut_json("a", 1, "good.wav", "good22.wav"),
                                      cut_json("b", 1, "good.wav", "good22.wav")}));
  for (const int64_t threads : {1, 3}) {
    const auto no_memory = [](int64_t) { throw std::bad_alloc(); };
    CHECK_THROWS_AS(s2s::data::scan_audio(cuts, {}, threads, no_memory), std::bad_alloc);
  }
  for (const int num_good : {0, 1, 2}) {
    const s2s::test::FailingThreads failing(num_good);
    CHECK_THROWS_WITH_AS(s2s::data::scan_audio(cuts, {}, 3, [](int64_t) {}),
                         doctest::Contains("[run/threads]"), s2s::Error);
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
