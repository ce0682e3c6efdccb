#include "s2s_run/synth/plan.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "s2s/error.h"

using namespace s2s::synth;

namespace {

SetPlan plan_of(Size size, uint64_t seed) {
  SetOptions options;
  options.size = size;
  options.seed = seed;
  return make_plan(options);
}

std::string key(const Combination& c) {
  std::string text = std::to_string(c.domain);
  for (const size_t value : c.values) text += "/" + std::to_string(value);
  return text;
}

bool is_held_out(const VoiceSetting& voice) {
  for (size_t i = 0; i < kNumVoiceSettings; ++i) {
    const VoiceSetting other = voice_setting(i);
    if (other.voice == voice.voice && other.pitch == voice.pitch &&
        other.stretch == voice.stretch) {
      return is_held_out_voice(i);
    }
  }
  return false;
}

}  // namespace

TEST_CASE("domains fill every slot of every phrase") {
  const auto all = all_combinations(domain_names());
  CHECK(all.size() == 12 * 3 * 6 + 2 * 7 * 8 + 12 * 7 + 16 * 5 + 8 * 2 * 7 + 9 * 9);
  std::set<std::string> questions;
  for (const Combination& c : all) {
    for (size_t phrasing = 0; phrasing < kNumPhrasings; ++phrasing) {
      const Exchange exchange = make_exchange(c, phrasing);
      questions.insert(exchange.question);
      CHECK((exchange.question + exchange.answer()).find_first_of("{}|.+") == std::string::npos);
    }
  }
  CHECK(questions.size() == all.size() * kNumPhrasings);
}

TEST_CASE("an answer depends on the slots") {
  const auto hours = all_combinations({"hours"});
  // The first place, then open or close, on the first day.
  CHECK(make_exchange(hours.at(0), 0).question == "when does the library open on monday");
  CHECK(make_exchange(hours.at(0), 0).answer() == "the library opens at nine on monday");
  CHECK(make_exchange(hours.at(8), 1).answer() == "the library closes at six on monday");
  CHECK(make_exchange(all_combinations({"sums"}).at(10), 0).answer() == "two plus two is four");
}

TEST_CASE("an unknown domain is refused with the nearest name") {
  try {
    all_combinations({"timer"});
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "synth/domain");
    CHECK(error.message().find("did you mean 'timers'?") != std::string::npos);
  }
}

TEST_CASE("held-out combinations leave every slot value twice in training") {
  const auto all = all_combinations(default_domains());
  const auto held_out = choose_held_out(all, 72, 3);
  CHECK(std::count(held_out.begin(), held_out.end(), true) == 72);
  std::map<std::string, int> uses;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t s = 0; s < all[i].values.size(); ++s) {
      const std::string value = std::to_string(all[i].domain) + "/" + std::to_string(s) + "/" +
                                std::to_string(all[i].values[s]);
      uses[value] += held_out[i] ? 0 : 1;
    }
  }
  for (const auto& [value, count] : uses) CHECK_MESSAGE(count >= 2, value);
}

TEST_CASE("training never meets a held-out combination or voice, and uses voices evenly") {
  const SetPlan plan = plan_of(Size::kFull, 1);
  std::set<std::string> trained, asked_in_dev;
  std::map<size_t, int> voices;
  std::map<std::string, int> questions;
  for (const CutPlan& cut : plan.cuts) {
    for (const Question& question : cut.questions) {
      const bool training = cut.split == "train";
      if (training) trained.insert(key(question.combination));
      if (training) ++voices[question.voice.voice];
      if (cut.split == "dev") asked_in_dev.insert(key(question.combination));
      CHECK(is_held_out(question.voice) == (cut.split == "dev" || cut.split == "dev_turns"));
      ++questions[cut.split];
    }
  }
  CHECK(questions["train"] == 10 * (604 - 72));
  CHECK(questions["dev"] == 72);
  for (const std::string& combination : asked_in_dev) CHECK(trained.count(combination) == 0);
  for (const auto& [voice, count] : voices) {
    CHECK_MESSAGE(std::abs(count - questions["train"] / 4) < questions["train"] / 20, voice);
  }
}

TEST_CASE("a plan is a function of its seed") {
  const auto first_question = [](uint64_t seed) {
    const Question question = plan_of(Size::kQuick, seed).cuts.at(0).questions.at(0);
    return key(question.combination) + " " + std::to_string(question.voice.pitch);
  };
  CHECK(first_question(1) == first_question(1));
  CHECK(first_question(1) != first_question(2));
}
