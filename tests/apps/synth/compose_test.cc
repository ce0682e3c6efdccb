#include "s2s_run/synth/compose.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace s2s::synth;

namespace {

constexpr size_t kFrame = 1280;

float loudest(const std::vector<float>& samples, size_t begin, size_t end) {
  float peak = 0;
  for (size_t i = begin; i < std::min(end, samples.size()); ++i) {
    peak = std::max(peak, std::abs(samples[i]));
  }
  return peak;
}

Question question_of(const std::string& domain, size_t index) {
  return {all_combinations({domain}).at(index), 0, voice_setting(80), false};  // kal16: fast
}

CutPlan interrupted_cut() {
  return {"train", 3, {question_of("timers", 5), question_of("timers", 40)}, true, false, 0};
}

size_t frame_of(double time_s) { return static_cast<size_t>(std::llround(time_s / 0.08)); }

}  // namespace

TEST_CASE("an agent's phrase is whole frames and silent at both edges") {
  Composer composer(1);
  const Speech& phrase = composer.agent_phrase("is now on");
  CHECK(phrase.samples.size() % kFrame == 0);
  CHECK(loudest(phrase.samples, 0, 400) == 0);
  CHECK(loudest(phrase.samples, phrase.samples.size() - 400, phrase.samples.size()) == 0);
  CHECK(loudest(phrase.samples, 0, phrase.samples.size()) > 0.1F);
  REQUIRE(phrase.words.size() == 3);
  CHECK(phrase.words[2].text == "on");
}

TEST_CASE("the same words give the same samples, whatever was said before") {
  Composer first(1), second(1);
  first.agent_phrase("in the kitchen");
  CHECK(first.agent_phrase("is now off").samples == second.agent_phrase("is now off").samples);
}

TEST_CASE("the agent answers three frames after the user's end, on the frame grid") {
  Composer composer(1);
  const auto dialogues =
      composer.compose({"train", 0, {question_of("devices", 7)}, false, false, 0});
  REQUIRE(dialogues.size() == 1);
  const Dialogue& d = dialogues[0];
  REQUIRE(d.turns.size() == 2);
  CHECK(d.user.size() == static_cast<size_t>(d.frames) * kFrame);
  CHECK(d.agent.size() == d.user.size());
  const double wait_frames = (d.turns[1].start_s - d.turns[0].end_s) / 0.08;
  CHECK(wait_frames >= 3 - 1e-6);
  CHECK(wait_frames < 4);
  const size_t answer = frame_of(d.turns[1].start_s);
  CHECK(std::abs(d.turns[1].start_s - static_cast<double>(answer) * 0.08) < 1e-9);
  CHECK(loudest(d.agent, 0, answer * kFrame) == 0);
  CHECK(loudest(d.agent, answer * kFrame, (answer + 5) * kFrame) > 0.05F);
  CHECK(d.turns[0].text == make_exchange(question_of("devices", 7).combination, 0).question);
  CHECK(d.turns[0].words.size() == 7);
}

TEST_CASE("an interrupted agent falls silent three frames after the new turn begins") {
  Composer composer(1);
  const auto dialogues = composer.compose(interrupted_cut());
  REQUIRE(dialogues.size() == 1);
  const Dialogue& d = dialogues[0];
  REQUIRE(d.turns.size() == 4);
  CHECK(d.turns[1].interrupted);
  const double heard_s = d.turns[1].end_s - d.turns[2].start_s;
  CHECK(heard_s > 0.1);
  CHECK(heard_s <= 0.24 + 1e-9);
  const size_t stop = frame_of(d.turns[1].end_s);
  CHECK(loudest(d.agent, stop * kFrame - 400, frame_of(d.turns[3].start_s) * kFrame) == 0);
  CHECK(d.turns[1].text == make_exchange(question_of("timers", 5).combination, 0).answer());
  CHECK(d.turns[1].words.size() < 8);
  CHECK(d.turns[1].words.back().end_s <= d.turns[1].end_s);
}

TEST_CASE("a dialogue that exceeds its limit falls apart into single exchanges") {
  Composer composer(1);
  CutPlan plan = interrupted_cut();
  plan.max_frames = composer.compose(plan).at(0).frames - 1;
  const auto parts = composer.compose(plan);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].turns.size() == 2);
  CHECK(parts[1].turns.size() == 2);
  CHECK(std::max(parts[0].frames, parts[1].frames) <= plan.max_frames);
}

TEST_CASE("a pause lengthens the user's turn and moves the words behind it") {
  Question question = question_of("devices", 7);
  Composer composer(1);
  const double plain_s = composer.compose({"x", 0, {question}, false, false, 0})[0].turns[0].end_s;
  question.pauses = true;
  const Dialogue paused = composer.compose({"x", 0, {question}, false, false, 0})[0];
  const double longer_s = paused.turns[0].end_s - plain_s;
  CHECK(longer_s > 0.39);
  CHECK(longer_s < 1.01);
  double widest_gap_s = 0;
  for (size_t w = 1; w < paused.turns[0].words.size(); ++w) {
    widest_gap_s = std::max(widest_gap_s,
                            paused.turns[0].words[w].start_s - paused.turns[0].words[w - 1].end_s);
  }
  CHECK(widest_gap_s == doctest::Approx(longer_s).epsilon(0.01));
}
