#include "s2s/scores/turn_taking.h"

#include <doctest/doctest.h>

namespace s2s {
namespace {

Turn user(double start_s, double end_s) { return {false, start_s, end_s, ""}; }
Turn agent(double start_s, double end_s) { return {true, start_s, end_s, ""}; }

/// One question from 1 s to 3 s and its answer at 3.24 s; the user's speech is the whole turn.
DialogueTimes question(std::vector<SpeechSegment> heard) {
  return {{user(1, 3), agent(3.24, 5)}, {{1, 3}}, std::move(heard), 8};
}

TEST_CASE("an answer in time takes the turn and has a latency") {
  const DuplexCounts counts = count_turn_taking(question({{3.28, 5}}));
  CHECK(counts.turn_ends == 1);
  CHECK(counts.takeovers == 1);
  REQUIRE(counts.latencies_s.size() == 1);
  CHECK(counts.latencies_s[0] == doctest::Approx(0.28));
  CHECK(counts.false_starts == 0);
  CHECK(counts.agent_speech_s == doctest::Approx(1.72));
}

TEST_CASE("a late answer has a latency but does not take the turn") {
  const DuplexCounts counts = count_turn_taking(question({{4.5, 6}}));
  CHECK(counts.takeovers == 0);
  CHECK(counts.latencies_s[0] == doctest::Approx(1.5));
}

TEST_CASE("an answer that begins before the user ends is negative") {
  const DuplexCounts counts = count_turn_taking(question({{2.5, 5}}));
  CHECK(counts.takeovers == 1);
  CHECK(counts.latencies_s[0] == doctest::Approx(-0.5));
  CHECK(counts.overlap_s == doctest::Approx(0.5));
}

TEST_CASE("no answer is no takeover and no latency") {
  const DuplexCounts counts = count_turn_taking(question({}));
  CHECK(counts.turn_ends == 1);
  CHECK(counts.takeovers == 0);
  CHECK(counts.latencies_s.empty());
}

TEST_CASE("a blurt in the middle of a turn is not its answer") {
  const DuplexCounts counts = count_turn_taking(question({{1.5, 2}, {3.2, 5}}));
  CHECK(counts.latencies_s == std::vector<double>{3.2 - 3});
  CHECK(counts.false_starts == 0);
}

TEST_CASE("pauses inside a turn and between two turns without an answer are counted") {
  DialogueTimes times;
  times.turns = {user(1, 4), user(5, 6), agent(6.24, 8)};
  times.user = {{1, 2}, {2.8, 4}, {5, 6}};
  times.duration_s = 9;
  times.agent = {{6.24, 8}};
  CHECK(count_turn_taking(times).pauses == 2);
  CHECK(count_turn_taking(times).pauses_spoken == 0);
  times.agent = {{2.4, 2.6}, {6.24, 8}};
  CHECK(count_turn_taking(times).pauses_spoken == 1);
  times.agent = {{4.3, 4.9}, {6.24, 8}};
  const DuplexCounts counts = count_turn_taking(times);
  CHECK(counts.pauses_spoken == 1);
  CHECK(counts.takeovers == 1);
  CHECK(counts.false_starts == 0);
}

TEST_CASE("an interrupted agent stops or does not") {
  DialogueTimes times;
  times.turns = {user(0, 1), agent(1.24, 3), user(3, 4), agent(4.24, 6)};
  times.user = {{0, 1}, {3, 4}};
  times.duration_s = 8;
  times.agent = {{1.28, 3.28}, {4.24, 6}};
  DuplexCounts counts = count_turn_taking(times);
  CHECK(counts.interruptions == 1);
  CHECK(counts.interruptions_stopped == 1);
  CHECK(counts.stop_latencies_s[0] == doctest::Approx(0.28));
  CHECK(counts.takeovers == 2);

  times.agent = {{1.28, 6}};  // speaks on through the second question
  counts = count_turn_taking(times);
  CHECK(counts.interruptions_stopped == 0);
  CHECK(counts.stop_latencies_s[0] == doctest::Approx(3));
  CHECK(counts.takeovers == 1);

  times.agent = {{1.28, 2.8}, {4.24, 6}};  // was silent already
  CHECK(count_turn_taking(times).interruptions == 0);
}

TEST_CASE("speech that nobody asked for is a false start") {
  DialogueTimes times = question({{3.24, 5}, {7, 9}});
  times.duration_s = 12;
  DuplexCounts counts = count_turn_taking(times);
  CHECK(counts.false_starts == 1);
  CHECK(counts.quiet_stretches == 1);
  CHECK(counts.quiet_stretches_spoken == 1);

  times.agent = {{3.24, 5}, {5.5, 7}};  // goes on after a breath
  counts = count_turn_taking(times);
  CHECK(counts.false_starts == 0);
  CHECK(counts.quiet_stretches_spoken == 0);

  const DialogueTimes silence = {{}, {}, {{4, 5}}, 10};
  counts = count_turn_taking(silence);
  CHECK(counts.false_starts == 1);
  CHECK(counts.quiet_stretches == 1);
  CHECK(counts.quiet_stretches_spoken == 1);
}

TEST_CASE("a greeting that was planned is no false start") {
  const DialogueTimes times = {
      {agent(0.5, 2), user(3, 4), agent(4.3, 5)}, {{3, 4}}, {{0.64, 2}, {4.4, 5}}, 6};
  CHECK(count_turn_taking(times).false_starts == 0);
  CHECK(count_turn_taking(times).turn_ends == 1);
}

TEST_CASE("dialogues add up and percentiles are numpy's") {
  DuplexCounts sum = count_turn_taking(question({{3.2, 5}}));
  sum += count_turn_taking(question({{3.4, 5}}));
  sum += count_turn_taking(question({}));
  CHECK(sum.takeovers == 2);
  CHECK(sum.turn_ends == 3);
  CHECK(*percentile(sum.latencies_s, 50) == doctest::Approx(0.3));
  CHECK(*percentile({1, 2, 3, 4}, 90) == doctest::Approx(3.7));
  CHECK_FALSE(percentile({}, 50).has_value());
}

}  // namespace
}  // namespace s2s
