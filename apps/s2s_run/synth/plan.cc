#include "s2s_run/synth/plan.h"

#include <set>

#include "s2s_run/synth/random.h"

namespace s2s::synth {

namespace {

constexpr size_t kNumVoices = 4;
constexpr size_t kNumSteps = 5;  // steps of pitch and of speed
constexpr size_t kSettingsPerVoice = kNumSteps * kNumSteps;

/// Amounts of data for a size.
struct Amounts {
  std::vector<std::string> domains;
  size_t utterances;  // per training combination
  size_t held_out;
  size_t dev_cuts;       // maximum per validation split
  size_t training_cuts;  // maximum
};

Amounts amounts_of(Size size) {
  switch (size) {
    case Size::kTiny:
      return {{"devices"}, 1, 8, 4, 12};
    case Size::kQuick:
      return {{"devices", "calls"}, 3, 24, 16, SIZE_MAX};
    case Size::kFull:
      break;
  }
  return {default_domains(), 10, 72, 72, SIZE_MAX};
}

std::vector<size_t> voice_indices(bool held_out) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < kNumVoiceSettings; ++i) {
    if (is_held_out_voice(i) == held_out) indices.push_back(i);
  }
  return indices;
}

enum Purpose : uint64_t { kHeldOut = 1, kTrainVoices, kTrainOrder, kTrainCuts, kValidation };

class Planner {
 public:
  Planner(const SetOptions& options, const Amounts& amounts)
      : seed_(options.seed),
        amounts_(amounts),
        all_(all_combinations(options.domains.empty() ? amounts.domains : options.domains)) {
    const auto held_out = choose_held_out(all_, amounts.held_out, Random(seed_, kHeldOut).next());
    for (size_t i = 0; i < all_.size(); ++i) {
      (held_out[i] ? held_out_ : training_).push_back(all_[i]);
    }
  }

  SetPlan plan() {
    plan_training();
    plan_validation("dev", held_out_, true, false);
    plan_validation("dev_seen", training_, false, false);
    plan_validation("dev_turns", training_, true, true);
    plan_texts();
    return std::move(plan_);
  }

 private:
  /// Each training combination `utterances` times, with voices used evenly, in random order.
  std::vector<Question> training_questions() const {
    std::vector<Question> questions;
    const std::vector<size_t> settings = voice_indices(false);
    const size_t per_voice = settings.size() / kNumVoices;
    Random random(seed_, kTrainVoices);
    for (size_t c = 0; c < training_.size(); ++c) {
      const size_t first = random.below(per_voice);
      for (size_t use = 0; use < amounts_.utterances; ++use) {
        // Seven is coprime to the number of settings per voice, so no setting repeats.
        const size_t voice = (c + use) % kNumVoices;
        const size_t setting = (first + 7 * (use / kNumVoices)) % per_voice;
        questions.push_back({training_[c], (use / 2 + use) % kNumPhrasings,
                             voice_setting(settings[voice * per_voice + setting]), false});
      }
    }
    Random(seed_, kTrainOrder).shuffle(questions);
    return questions;
  }

  void plan_training() {
    std::vector<Question> questions = training_questions();
    Random random(seed_, kTrainCuts);
    size_t index = 0;
    for (size_t i = 0; i < questions.size() && index < amounts_.training_cuts; ++index) {
      CutPlan cut{"train", index, {questions[i++]}, false, random.chance(0.08), kMaxTrainingFrames};
      cut.interrupts = random.chance(0.2) && i < questions.size();
      if (cut.interrupts) {
        cut.questions.push_back(questions[i++]);
        cut.questions[1].voice = cut.questions[0].voice;
      }
      for (Question& question : cut.questions) question.pauses = random.chance(0.15);
      plan_.cuts.push_back(std::move(cut));
    }
  }

  /// One exchange per cut, so that each example is one answer. `turns`: every second cut is
  /// interrupted by another exchange; the others contain a pause.
  void plan_validation(const std::string& split, const std::vector<Combination>& from,
                       bool new_voices, bool turns) {
    std::vector<Combination> combinations = from;
    Random random(seed_, kValidation + plan_.cuts.size());
    random.shuffle(combinations);
    const std::vector<size_t> settings = voice_indices(new_voices);
    size_t next = 0;
    for (size_t index = 0; index < amounts_.dev_cuts && next < combinations.size(); ++index) {
      CutPlan cut{split, index, {}, false, false, 0};
      const VoiceSetting voice = voice_setting(settings[random.below(settings.size())]);
      const bool interrupts = turns && index % 2 == 0;
      const size_t wanted = interrupts ? 2 : 1;
      for (size_t n = 0; n < wanted && next < combinations.size(); ++n) {
        cut.questions.push_back(
            {combinations[next++], random.below(kNumPhrasings), voice, turns && !interrupts});
      }
      cut.interrupts = interrupts && cut.questions.size() == 2;
      plan_.cuts.push_back(std::move(cut));
    }
  }

  void plan_texts() {
    std::set<std::string> texts;
    for (const Combination& combination : training_) {
      for (size_t phrasing = 0; phrasing < kNumPhrasings; ++phrasing) {
        const Exchange exchange = make_exchange(combination, phrasing);
        texts.insert(exchange.question);
        texts.insert(exchange.answer());
      }
    }
    plan_.texts.assign(texts.begin(), texts.end());
  }

  uint64_t seed_;
  Amounts amounts_;
  std::vector<Combination> all_, training_, held_out_;
  SetPlan plan_;
};

}  // namespace

VoiceSetting voice_setting(size_t index) {
  constexpr double kFactors[kNumSteps] = {0.8, 0.9, 1.0, 1.12, 1.25};
  const size_t step = index % kSettingsPerVoice;
  return {index / kSettingsPerVoice, kFactors[step / kNumSteps], kFactors[step % kNumSteps], true};
}

bool is_held_out_voice(size_t index) {
  const size_t voice = index / kSettingsPerVoice;
  const size_t step = index % kSettingsPerVoice;
  return (step / kNumSteps + 2 * (step % kNumSteps) + voice) % kNumSteps == 0;
}

SetPlan make_plan(const SetOptions& options) {
  return Planner(options, amounts_of(options.size)).plan();
}

}  // namespace s2s::synth
