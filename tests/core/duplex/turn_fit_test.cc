#include "duplex/turn_fit.h"

#include <doctest/doctest.h>

#include <random>

#include "core/duplex/dialogue_sound.h"
#include "duplex/turn_findings.h"

namespace {

using namespace s2s;
using namespace s2s::data;
using s2s::test::DialogueSound;

const std::vector<SpeechSegment> kUser = {{1, 3.4}, {8, 9.5}, {14, 17}};
const std::vector<SpeechSegment> kAgent = {{4, 7.2}, {10.4, 13.2}, {17.6, 19}};
constexpr double kDuration_s = 21;

std::vector<SpeechSegment> moved(std::vector<SpeechSegment> turns, double by_s) {
  for (SpeechSegment& turn : turns) {
    turn.start_s += by_s;
    turn.end_s += by_s;
  }
  return turns;
}

/// Two channels with speech at `kUser` and `kAgent`.
struct Dialogue {
  DialogueSound user{kDuration_s, kUser, 1};
  DialogueSound agent{kDuration_s, kAgent, 2};

  TurnFit fit(const std::vector<SpeechSegment>& user_turns,
              const std::vector<SpeechSegment>& agent_turns) const {
    return fit_turns({user.levels_db(), user_turns}, {agent.levels_db(), agent_turns});
  }
};

void check_nothing(const TurnFit& fit) {
  CHECK(fit.order != ChannelOrder::kSwapped);
  CHECK(fit.order != ChannelOrder::kSame);
  for (const SpeakerFit& speaker : {fit.user, fit.agent}) {
    CHECK(speaker.shift_s == 0);
    CHECK_FALSE(speaker.is_unlabeled);
    CHECK_FALSE(speaker.is_empty);
  }
}

void check_fits(const TurnFit& fit) {
  check_nothing(fit);
  CHECK(fit.order == ChannelOrder::kOwn);
  CHECK(fit.user.fits);
  CHECK(fit.agent.fits);
}

}  // namespace

TEST_CASE("levels are those of the frames, without a DC offset, whatever the rate") {
  for (const int rate_hz : {8000, 11025, 16000, 44100}) {
    std::vector<float> samples(static_cast<size_t>(rate_hz), 0.25F);
    for (size_t i = samples.size() / 2; i < samples.size(); ++i) {
      samples[i] += i % 2 == 0 ? 0.1F : -0.1F;
    }
    const std::vector<double> levels_db = centered_levels_db(samples, rate_hz, 0.08);
    REQUIRE(levels_db.size() == 13);
    CHECK(levels_db[0] < -80);
    CHECK(levels_db[8] == doctest::Approx(-20).epsilon(0.001));
  }
  CHECK(centered_levels_db({}, 16000, 0.08).empty());
}

TEST_CASE("a correlation of masks is 1 at their shift, and 0 of a constant mask") {
  const FrameMask turns_T = {0, 1, 1, 0, 0, 0, 0, 0};
  const FrameMask sounds_T = {0, 0, 0, 1, 1, 0, 0, 0};
  CHECK(mask_correlation(turns_T, sounds_T, 2) == doctest::Approx(1));
  CHECK(mask_correlation(turns_T, sounds_T, 0) == doctest::Approx(-1.0 / 3));
  CHECK(mask_correlation(sounds_T, turns_T, -2) == doctest::Approx(1));
  CHECK(mask_correlation(turns_T, FrameMask(8, 1), 0) == 0);
  CHECK(mask_correlation({}, {}, 3) == 0);
}

TEST_CASE("turns that lie on their speech fit, over noise, crosstalk, a hum and a DC offset") {
  check_fits(Dialogue().fit(kUser, kAgent));
  for (const double noise_db : {-70.0, -55.0, -40.0}) {
    Dialogue noisy;
    noisy.user.add_noise(noise_db);
    noisy.agent.add_noise(noise_db - 6);
    check_fits(noisy.fit(kUser, kAgent));
  }
  for (const double crosstalk_db : {-30.0, -20.0, -12.0}) {
    Dialogue leaky;
    leaky.user.add_crosstalk(Dialogue().agent, crosstalk_db);
    leaky.agent.add_crosstalk(Dialogue().user, crosstalk_db, 0.12);
    leaky.user.add_noise(-65);
    leaky.agent.add_noise(-65);
    INFO(crosstalk_db);
    check_fits(leaky.fit(kUser, kAgent));
  }
  Dialogue offset;
  offset.user.add_offset(0.2F);
  offset.agent.add_hum(-45);
  check_fits(offset.fit(kUser, kAgent));
}

TEST_CASE("turns that are a little longer or shorter than the speech fit") {
  std::vector<SpeechSegment> user = kUser, agent = kAgent;
  for (SpeechSegment& turn : user) turn.start_s -= 0.35, turn.end_s += 0.3;
  for (SpeechSegment& turn : agent) turn.start_s += 0.15, turn.end_s -= 0.1;
  check_fits(Dialogue().fit(user, agent));
}

TEST_CASE("swapped channels are recognized, with crosstalk and with turns of one speaker") {
  Dialogue dialogue;
  CHECK(dialogue.fit(kAgent, kUser).order == ChannelOrder::kSwapped);
  CHECK(dialogue.fit(kAgent, {}).order == ChannelOrder::kSwapped);
  CHECK(dialogue.fit({}, kUser).order == ChannelOrder::kSwapped);
  CHECK(dialogue.fit(moved(kAgent, 0.16), moved(kUser, 0.16)).order == ChannelOrder::kSwapped);
  dialogue.user.add_crosstalk(Dialogue().agent, -20);
  dialogue.agent.add_crosstalk(Dialogue().user, -20);
  CHECK(dialogue.fit(kAgent, kUser).order == ChannelOrder::kSwapped);
  dialogue.user.add_noise(-50);
  dialogue.agent.add_noise(-50);
  CHECK(dialogue.fit(kAgent, kUser).order == ChannelOrder::kSwapped);
}

TEST_CASE("one question and one answer that are swapped are not taken for shifted") {
  const std::vector<SpeechSegment> question = {{1, 4}}, answer = {{5, 8}};
  const DialogueSound user(9, question, 1), agent(9, answer, 2);
  const TurnFit fit = fit_turns({user.levels_db(), answer}, {agent.levels_db(), question});
  CHECK(fit.order == ChannelOrder::kSwapped);
}

TEST_CASE("shifted turns are measured, of one speaker and of both") {
  const Dialogue dialogue;
  TurnFit fit = dialogue.fit(moved(kUser, -0.8), moved(kAgent, -0.8));
  CHECK(fit.order == ChannelOrder::kOwn);
  CHECK(fit.user.shift_s == doctest::Approx(0.8));
  CHECK(fit.agent.shift_s == doctest::Approx(0.8));
  fit = dialogue.fit(moved(kUser, 0.4), kAgent);
  CHECK(fit.user.shift_s == doctest::Approx(-0.4));
  CHECK(fit.agent.shift_s == 0);
  CHECK_FALSE(fit.user.is_unlabeled);
  fit = dialogue.fit(moved(kUser, -0.08), moved(kAgent, 0.16));
  check_fits(fit);
  // As far as the user's channel is silent in between: the turns lie on the agent's speech.
  fit = dialogue.fit(moved(kUser, 3.2), moved(kAgent, 3.2));
  CHECK(fit.order == ChannelOrder::kOwn);
  CHECK(fit.user.shift_s == doctest::Approx(-3.2));
}

TEST_CASE("speech without turns is measured after, before and between them") {
  const Dialogue dialogue;
  TurnFit fit = dialogue.fit({kUser[0], kUser[1]}, {kAgent[0]});
  CHECK(fit.user.shift_s == 0);
  CHECK(fit.user.is_unlabeled);
  CHECK(fit.user.unlabeled_s == doctest::Approx(3).epsilon(0.1));
  CHECK(fit.user.unlabeled_after_s == doctest::Approx(fit.user.unlabeled_s));
  CHECK(fit.agent.is_unlabeled);
  CHECK(fit.agent.unlabeled_s == doctest::Approx(4.2).epsilon(0.1));
  CHECK_FALSE(fit.user.is_empty);
  fit = dialogue.fit({kUser[2]}, kAgent);
  CHECK(fit.user.is_unlabeled);
  CHECK(fit.user.unlabeled_before_s == doctest::Approx(3.9).epsilon(0.1));
  CHECK(fit.user.unlabeled_after_s == 0);
  CHECK_FALSE(fit.agent.is_unlabeled);
}

TEST_CASE(
    "speech without turns is found over faint sound in the other channel, not over loud one") {
  const std::vector<SpeechSegment> long_s = {{0.5, 20}};
  Dialogue faint;
  faint.agent.add_speech(long_s, 0.02F);
  CHECK(faint.fit({kUser[0], kUser[1]}, kAgent).user.is_unlabeled);
  Dialogue loud;
  loud.agent.add_speech({{13.6, 17.4}}, 0.3F);
  CHECK_FALSE(loud.fit({kUser[0], kUser[1]}, kAgent).user.is_unlabeled);
}

TEST_CASE("an agent that speaks and has no turns is named, a user without turns is not") {
  const Dialogue dialogue;
  CHECK(dialogue.fit(kUser, {}).agent.is_unlabeled);
  check_nothing(dialogue.fit({}, kAgent));
  check_nothing(dialogue.fit({}, {}));
}

TEST_CASE("short words between turns, and sound that is much fainter, need no turn") {
  Dialogue dialogue;
  dialogue.user.add_speech({{5.5, 5.9}, {12, 12.4}, {19.5, 19.9}}, 0.3F);
  dialogue.agent.add_speech({{1.2, 3}, {8.2, 9.4}}, 0.01F);
  check_fits(dialogue.fit(kUser, kAgent));
}

TEST_CASE("turns over silence are counted") {
  const Dialogue dialogue;
  std::vector<SpeechSegment> user = kUser;
  user.push_back({18, 20.5});
  TurnFit fit = dialogue.fit(user, kAgent);
  CHECK(fit.user.is_empty);
  CHECK(fit.user.num_empty_turns == 1);
  CHECK(fit.user.empty_s == doctest::Approx(2.5).epsilon(0.05));
  CHECK_FALSE(fit.agent.is_empty);
  const DialogueSound silent(kDuration_s, {}, 3);
  fit = fit_turns({dialogue.user.levels_db(), kUser}, {silent.levels_db(), kAgent});
  CHECK(fit.order == ChannelOrder::kOwn);
  CHECK(fit.agent.num_empty_turns == 3);
  fit = fit_turns({silent.levels_db(), kUser}, {silent.levels_db(), kAgent});
  CHECK(fit.order == ChannelOrder::kUnknown);
  CHECK(fit.user.is_empty);
}

TEST_CASE("the same sound in both channels differs from crosstalk") {
  DialogueSound mixed(kDuration_s, kUser, 1);
  mixed.add_crosstalk(DialogueSound(kDuration_s, kAgent, 2), 0);
  mixed.add_noise(-60);
  const std::vector<double> levels_db = mixed.levels_db();
  CHECK(fit_turns({levels_db, kUser}, {levels_db, kAgent}).order == ChannelOrder::kSame);
  const DialogueSound agent(kDuration_s, kAgent, 2);
  check_nothing(fit_turns({levels_db, kUser}, {agent.levels_db(), kAgent}));
}

TEST_CASE("noise, music, whole-file turns and empty cuts are not judged") {
  DialogueSound noise(kDuration_s, {}, 1), music(kDuration_s, {}, 2);
  noise.add_noise(-25);
  music.add_music(-20);
  const DialogueSound agent(kDuration_s, kAgent, 2);
  for (const DialogueSound* channel : {&noise, &music}) {
    check_nothing(fit_turns({channel->levels_db(), kUser}, {agent.levels_db(), kAgent}));
    check_nothing(fit_turns({agent.levels_db(), kAgent}, {channel->levels_db(), {}}));
    check_nothing(fit_turns({channel->levels_db(), kUser}, {channel->levels_db(), {}}));
  }
  check_nothing(Dialogue().fit({{0, kDuration_s}}, {{0, kDuration_s}}));
  check_nothing(Dialogue().fit({{-5, -1}}, {{kDuration_s + 1, kDuration_s + 2}}));
  check_nothing(fit_turns({{}, kUser}, {{}, kAgent}));
  check_nothing(fit_turns({{-20}, {{0, 0.08}}}, {{-120}, {}}));
}

TEST_CASE("random turns over random speech are rarely found to be wrong in one way") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> length_s(0.6, 4), gap_s(0.3, 3);
  TurnFindings findings;
  const auto draw = [&] {
    std::vector<SpeechSegment> stretches;
    for (double at_s = gap_s(random); at_s < 50;) {
      const double end_s = at_s + length_s(random);
      stretches.push_back({at_s, end_s});
      at_s = end_s + gap_s(random);
    }
    return stretches;
  };
  for (uint32_t i = 0; i < 20; ++i) {
    const DialogueSound user(55, draw(), i), agent(55, draw(), i + 100);
    findings.add(Cut(), fit_turns({user.levels_db(), draw()}, {agent.levels_db(), draw()}));
  }
  for (const TurnFinding& finding : findings.report().findings) {
    CHECK_MESSAGE(finding.kind != "swapped-channels", sentence(finding));
    CHECK_MESSAGE(finding.kind != "shifted-turns", sentence(finding));
  }
}
