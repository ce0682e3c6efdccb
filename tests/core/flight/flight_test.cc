// Flight records: what is kept, and what a comparison of the ranks' records says.

#include <doctest/doctest.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "common/contains.h"
#include "flight/flight_record.h"
#include "flight/progress_board.h"

namespace {

using s2s::CollectiveKind;
using s2s::CollectiveRecord;
using s2s::diagnose_flights;
using s2s::FlightDiagnosis;
using s2s::FlightRecord;
using s2s::GroupPlace;
using s2s::RankFlight;
using s2s::test::contains;
using std::chrono::milliseconds;

CollectiveRecord all_reduce(const std::string& group, int64_t sequence, const std::string& name,
                            int64_t num_bytes = 8) {
  CollectiveRecord out;
  out.kind = CollectiveKind::kAllReduce;
  out.group = group;
  out.sequence = sequence;
  out.name = name;
  out.num_bytes = num_bytes;
  return out;
}

/// A rank of a group `data` of four that has called so many all_reduce, the last without an end.
RankFlight rank_at(int64_t rank, int64_t num_started, const std::string& state = "running",
                   const std::string& error = "") {
  RankFlight out;
  out.rank = rank;
  out.size = 4;
  out.host = "node7";
  out.process = 100 + rank;
  out.step = 5;
  out.phase = "backward";
  out.state = state;
  out.error = error;
  out.groups = {{"data", {0, 1, 2, 3}, num_started, num_started - 1}};
  for (int64_t i = 0; i < num_started; ++i) {
    s2s::FlownCollective one;
    one.sequence = i;
    one.kind = "all_reduce";
    one.name = "layers." + std::to_string(i);
    one.details = "sum of 8 bytes of Float";
    one.step = 5;
    if (i + 1 < num_started) one.finished_s = 1.0;
    out.collectives.push_back(one);
  }
  return out;
}

RankFlight lost(int64_t rank, int64_t num_started) {
  return rank_at(rank, num_started, "failed", "[comm/lost] a collective failed");
}

}  // namespace

TEST_CASE("a flight record keeps the last collectives, and counts all") {
  FlightRecord record(3);
  const GroupPlace place = {"data", {0, 1}, 0, milliseconds(1000)};
  record.set_step(7);
  record.set_phase("forward");
  for (int64_t i = 0; i < 5; ++i) {
    record.start(all_reduce("data", i, "loss"), place);
    if (i < 4) record.finish(all_reduce("data", i, "loss"), /*failed=*/i == 3);
  }
  RankFlight flight;
  record.copy_to(flight);
  CHECK(flight.step == 7);
  CHECK(flight.groups.size() == 1);
  CHECK(flight.groups[0].num_started == 5);
  CHECK(flight.groups[0].num_finished == 4);
  REQUIRE(flight.collectives.size() == 3);
  CHECK(flight.collectives[0].sequence == 2);
  CHECK(flight.collectives[0].finished_s.value() >= flight.collectives[0].started_s);
  CHECK(flight.collectives[1].failed);
  CHECK(!flight.collectives[2].finished_s);
  CHECK(flight.collectives[2].text() == "all_reduce 'loss' (sum of 8 bytes of Byte)");
  CHECK(record.movement().is_in_collective);
  record.copy_to(flight, 1);  // the one under way and one that ended
  CHECK(flight.collectives.size() == 2);
}

TEST_CASE("a flight record tells groups of one name and groups of one rank apart") {
  FlightRecord record;
  const GroupPlace first = {"shard", {0, 1}, 0, milliseconds(1)}, second = first;
  const GroupPlace alone = {"tensor", {0}, 0, milliseconds(1)};
  record.start(all_reduce("shard", 0, "a"), first);
  record.start(all_reduce("shard", 0, "b"), second);
  record.start(all_reduce("shard", 1, "c"), first);
  record.start(all_reduce("tensor", 0, "d"), alone);
  RankFlight flight;
  record.copy_to(flight);
  REQUIRE(flight.groups.size() == 2);
  CHECK(flight.groups[0].num_started == 2);
  CHECK(flight.groups[1].name == "shard#1");
}

TEST_CASE("a flight record survives its file") {
  RankFlight flight = rank_at(1, 3, "failed", "[comm/lost] \"x\"");
  flight.silent = {rank_at(2, 1)};
  const std::string text = s2s::to_json_text(flight, /*is_compact=*/false);
  const RankFlight read = s2s::parse_flight(text);
  CHECK(s2s::to_json_text(read, false) == text);
  CHECK(read.silent.at(0).rank == 2);
  CHECK_THROWS(s2s::parse_flight("{}"));
  CHECK_THROWS(s2s::parse_flight("nonsense"));
}

TEST_CASE("a diagnosis names ranks that are not heard of") {
  RankFlight first = lost(0, 3);
  first.silent = {rank_at(2, 2)};
  const FlightDiagnosis found = diagnose_flights({first, lost(1, 3)}, 4);
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].kind == "silent");
  CHECK(found.findings[0].ranks == std::vector<int64_t>{2});
  CHECK(contains(found.verdict, "rank 2 (node7, process 102) no longer reports"));
  CHECK(contains(found.verdict,
                 "its last report was 0 s earlier, at step 5, backward, in all_reduce 'layers.1'"));
  CHECK(contains(found.findings[1].text, "rank 3 has not reported anything"));
}

TEST_CASE("a diagnosis names the rank that ended by an error of its own") {
  const auto own = rank_at(3, 2, "failed", "[run/memory] no memory left");
  const auto found = diagnose_flights({lost(0, 3), lost(1, 3), lost(2, 3), own}, 4);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].kind == "error");
  CHECK(contains(found.verdict, "rank 3 (node7, process 103) ended with an error at step 5"));
  CHECK(contains(found.verdict, "[run/memory] no memory left"));
}

TEST_CASE("a diagnosis names a rank that stood still and went on") {
  RankFlight woken = lost(2, 3);
  woken.halted_s = 9.5;
  const auto found = diagnose_flights({lost(0, 3), lost(1, 3), woken, lost(3, 3)}, 4);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].kind == "halted");
  CHECK(contains(found.verdict, "rank 2 (node7, process 102) was stopped for 9 s"));
}

TEST_CASE("a diagnosis names the rank that is behind, not those that wait for others") {
  RankFlight slow = rank_at(1, 2);
  slow.collectives.back().finished_s = 2.0;  // it computes
  slow.idle_s = 33;
  const RankFlight waits_too = rank_at(2, 2);
  const auto found = diagnose_flights({rank_at(0, 3), slow, waits_too, rank_at(3, 3)}, 4);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].kind == "behind");
  CHECK(found.findings[0].ranks == std::vector<int64_t>{1});
  CHECK(contains(found.verdict, "after all_reduce 'layers.1'"));
  CHECK(contains(found.verdict, " for 33 s"));
  // In whatever order the records come.
  const auto turned = diagnose_flights({rank_at(3, 3), rank_at(0, 3), waits_too, slow}, 4);
  CHECK(turned.verdict == found.verdict);
}

TEST_CASE("a diagnosis shows collectives that differ, the first ones") {
  RankFlight other = rank_at(2, 3);
  other.collectives[1].details = "sum of 16 bytes of Float";
  other.collectives[2].kind = "broadcast";
  const auto found = diagnose_flights({rank_at(0, 3), rank_at(1, 3), other, rank_at(3, 3)}, 4);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].kind == "differs");
  CHECK(contains(found.verdict, "as number 1 of group data"));
  CHECK(contains(found.verdict, "all_reduce 'layers.1' (sum of 16 bytes of Float) (rank 2)"));
  CHECK(contains(found.verdict, "(ranks 0, 1, 3); at step 5"));
}

TEST_CASE("a diagnosis names a rank that had less to do, and says when nothing is wrong") {
  const auto done = rank_at(1, 2, "finished");
  auto found = diagnose_flights({lost(0, 3), done, lost(2, 3), lost(3, 3)}, 4);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].kind == "finished");
  found = diagnose_flights({rank_at(0, 3), rank_at(1, 3), rank_at(2, 3), rank_at(3, 3)}, 4);
  CHECK(found.findings.empty());
  CHECK(contains(found.verdict, "none has fallen behind"));
}

TEST_CASE("ranks read on the board what the others say") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  s2s::ProgressBoard first(*store, 0, 2, milliseconds(20)), second(*store, 1, 2, milliseconds(20));
  first.say("one", /*now=*/true);
  second.say("two", /*now=*/true);
  CHECK(first.wait_for_round(milliseconds(10000)));
  CHECK(second.wait_for_round(milliseconds(10000)));
  CHECK(first.wait_for_round(milliseconds(10000)));
  CHECK(first.heard().at(1).text == "two");
  CHECK(second.heard().at(0).text == "one");
  const auto before = second.heard().at(0).at;
  CHECK(first.wait_for_round(milliseconds(10000)));  // said again: it lives
  CHECK(second.wait_for_round(milliseconds(10000)));
  CHECK(second.heard().at(0).at > before);
}
