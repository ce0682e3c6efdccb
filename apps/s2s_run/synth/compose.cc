#include "s2s_run/synth/compose.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/fnv.h"
#include "s2s_run/synth/random.h"

namespace s2s::synth {

namespace {

constexpr int64_t kFrameSamples = kSpeechRateHz * kFrameMs / 1000;
constexpr double kFrameS = 0.08;
/// Digital silence at both edges of a phrase. It is longer than half a codec analysis window minus
/// half a hop, so that the tokens of a phrase do not depend on its neighbors.
constexpr size_t kPhraseEdgeSamples = 400;

double seconds(int64_t samples) {
  return static_cast<double>(samples) / static_cast<double>(kSpeechRateHz);
}
double frame_time_s(int64_t frame) { return static_cast<double>(frame * kFrameMs) / 1000; }
int64_t frames_until(double time_s) {
  return static_cast<int64_t>(std::ceil(time_s / kFrameS - 1e-9));
}

double rms(const std::vector<float>& samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return samples.empty() ? 0 : std::sqrt(sum / static_cast<double>(samples.size()));
}

void scale(std::vector<float>& samples, double gain) {
  for (float& x : samples) x *= static_cast<float>(gain);
}

void insert_pause(Speech& speech, size_t before_word, double gap_s) {
  const double at_s = speech.words[before_word].start_s;
  const auto at = std::min(speech.samples.size(),
                           static_cast<size_t>(at_s * static_cast<double>(kSpeechRateHz)));
  const auto gap = static_cast<size_t>(gap_s * static_cast<double>(kSpeechRateHz));
  const size_t fade = std::min({size_t{160}, at, speech.samples.size() - at});
  for (size_t i = 0; i < fade; ++i) {
    const float gain = static_cast<float>(i) / static_cast<float>(fade);
    speech.samples[at - 1 - i] *= gain;
    speech.samples[at + i] *= gain;
  }
  speech.samples.insert(speech.samples.begin() + static_cast<std::ptrdiff_t>(at), gap, 0.0F);
  for (size_t w = before_word; w < speech.words.size(); ++w) {
    speech.words[w].start_s += seconds(static_cast<int64_t>(gap));
    speech.words[w].end_s += seconds(static_cast<int64_t>(gap));
  }
}

/// Builds a dialogue. All random numbers come from one stream, in a fixed order.
class Timeline {
 public:
  Timeline(Composer& composer, Random random) : composer_(composer), random_(random) {}

  /// Adds silence.
  void wait(int64_t frames) { cursor_ += frames; }

  /// Adds a user turn that starts at a random sample of frame `cursor_`. Moves the cursor to the
  /// start of the answer.
  void user_turn(const Exchange& exchange, Speech speech) {
    const int64_t start = cursor_ * kFrameSamples + random_.between(0, kFrameSamples - 1);
    put(dialogue_.user, start, speech.samples);
    SpokenTurn turn{
        false, false, seconds(start) + speech.words.front().start_s, 0, exchange.question, {}};
    add_words(turn, speech.words, seconds(start));
    turn.end_s = turn.words.back().end_s;
    cursor_ = frames_until(turn.end_s) + kReactionFrames;
    dialogue_.turns.push_back(std::move(turn));
  }

  /// Adds an agent turn that starts at frame `cursor_`. Moves the cursor after the answer.
  void agent_turn(const Exchange& exchange) {
    SpokenTurn turn{true, false, frame_time_s(cursor_), 0, exchange.answer(), {}};
    for (const std::string& text : exchange.answer_phrases) {
      const Speech& phrase = composer_.agent_phrase(text);
      put(dialogue_.agent, cursor_ * kFrameSamples, phrase.samples);
      add_words(turn, phrase.words, frame_time_s(cursor_));
      cursor_ += static_cast<int64_t>(phrase.samples.size()) / kFrameSamples;
    }
    turn.end_s = frame_time_s(cursor_);
    dialogue_.turns.push_back(std::move(turn));
  }

  /// Moves the cursor back into the agent's last turn, to the frame at which a user barges in, and
  /// ends that turn kReactionFrames later. Returns false without a change when the answer is too
  /// short: its text must fit, because the text channel is ahead of the voice.
  bool interrupt() {
    SpokenTurn& turn = dialogue_.turns.back();
    const int64_t first = std::llround(turn.start_s / kFrameS);
    const int64_t last = std::llround(turn.end_s / kFrameS);
    const auto num_words = static_cast<int64_t>(turn.words.size());
    const int64_t earliest = first + 2 + num_words * 3 / 2;
    const int64_t latest = last - 2 * kReactionFrames;
    if (earliest > latest) return false;
    cursor_ = random_.between(earliest, latest);
    const int64_t stop = cursor_ + kReactionFrames;
    silence_agent_from(stop * kFrameSamples);
    turn.end_s = frame_time_s(stop);
    turn.interrupted = true;
    while (turn.words.back().start_s > turn.end_s - kFrameS) turn.words.pop_back();
    turn.words.back().end_s = std::min(turn.words.back().end_s, turn.end_s);
    return true;
  }

  Dialogue finish() {
    dialogue_.frames = cursor_;
    const auto samples = static_cast<size_t>(cursor_ * kFrameSamples);
    dialogue_.user.resize(samples, 0.0F);
    dialogue_.agent.resize(samples, 0.0F);
    return std::move(dialogue_);
  }

 private:
  static void put(std::vector<float>& channel, int64_t at, const std::vector<float>& samples) {
    const auto begin = static_cast<size_t>(at);
    channel.resize(std::max(channel.size(), begin + samples.size()), 0.0F);
    for (size_t i = 0; i < samples.size(); ++i) channel[begin + i] += samples[i];
  }

  static void add_words(SpokenTurn& turn, const std::vector<SpokenWord>& words, double offset_s) {
    for (const SpokenWord& word : words) {
      turn.words.push_back({word.text, word.start_s + offset_s, word.end_s + offset_s});
    }
  }

  void silence_agent_from(int64_t sample) {
    const auto end = std::min(static_cast<size_t>(sample), dialogue_.agent.size());
    const size_t fade = std::min<size_t>(320, end);
    dialogue_.agent.resize(end);
    // Silence before the end of the frame, so that the next frame is digital silence for a codec,
    // too.
    for (size_t i = 0; i < std::min(kPhraseEdgeSamples, end); ++i) dialogue_.agent[end - 1 - i] = 0;
    for (size_t i = 0; i < fade && kPhraseEdgeSamples + i < end; ++i) {
      dialogue_.agent[end - 1 - kPhraseEdgeSamples - i] *=
          static_cast<float>(i) / static_cast<float>(fade);
    }
  }

  Composer& composer_;
  Random random_;
  Dialogue dialogue_;
  int64_t cursor_ = 0;
};

/// RMS of speech: -26 dB (varied by 3 dB later).
constexpr double kSpeechLevel = 0.05;

Speech user_speech(Speaker& speaker, const Question& question, const Exchange& exchange,
                   Random& random) {
  Speech speech = speaker.speak(exchange.question, question.voice);
  const double level = rms(speech.samples);
  if (level > 0) scale(speech.samples, kSpeechLevel / level);
  if (question.pauses && speech.words.size() > 2) {
    const size_t word = 1 + random.below(speech.words.size() - 2);
    insert_pause(speech, word, random.uniform(0.4, 1.0));
  }
  return speech;
}

/// Adds noise of one of five levels (including none) and three colors.
void add_noise(std::vector<float>& channel, Random& random) {
  constexpr double kSnrDb[] = {0, 32, 26, 20, 14};
  constexpr double kPoles[] = {0, 0.7, 0.95};
  const double snr_db = kSnrDb[random.below(5)];
  const double pole = kPoles[random.below(3)];
  if (snr_db == 0) return;
  const double gain = kSpeechLevel * std::pow(10.0, -snr_db / 20) * std::sqrt(1 - pole * pole);
  float state = 0;
  for (float& x : channel) {
    state = static_cast<float>(pole) * state + static_cast<float>(gain) * random.noise();
    x += state;
  }
}

/// The dialogue without noise; empty when the planned interruption is impossible.
std::optional<Dialogue> lay_out(Composer& composer, Speaker& speaker, const CutPlan& plan,
                                Random random) {
  Timeline timeline(composer, Random(random.next()));
  const int64_t quiet = plan.quiet ? random.between(20, 45) : 0;
  const bool quiet_first = random.chance(0.5);
  timeline.wait(random.between(1, 4) + (quiet_first ? quiet : 0));
  for (size_t i = 0; i < plan.questions.size(); ++i) {
    if (i > 0 && plan.interrupts) {
      if (!timeline.interrupt()) return std::nullopt;
    } else if (i > 0) {
      timeline.wait(random.between(6, 15));
    }
    const Question& question = plan.questions[i];
    const Exchange exchange = make_exchange(question.combination, question.phrasing);
    timeline.user_turn(exchange, user_speech(speaker, question, exchange, random));
    timeline.agent_turn(exchange);
  }
  timeline.wait(random.between(1, 4) + (quiet_first ? 0 : quiet));
  Dialogue dialogue = timeline.finish();
  if (plan.max_frames > 0 && dialogue.frames > plan.max_frames) return std::nullopt;
  return dialogue;
}

CutPlan with_one_question(const CutPlan& plan, const Question& question) {
  CutPlan one = plan;
  one.questions = {question};
  one.interrupts = one.quiet = false;
  return one;
}

}  // namespace

std::vector<Dialogue> Composer::compose(const CutPlan& plan) {
  Random random(seed_, fnv1a(plan.split), plan.index);
  std::vector<Dialogue> dialogues;
  if (auto dialogue = lay_out(*this, speaker_, plan, Random(random.next()))) {
    dialogues.push_back(std::move(*dialogue));
  } else {
    for (const Question& question : plan.questions) {
      auto one = lay_out(*this, speaker_, with_one_question(plan, question), Random(random.next()));
      if (one) dialogues.push_back(std::move(*one));
    }
  }
  for (Dialogue& dialogue : dialogues) {
    scale(dialogue.user, std::pow(10.0, random.uniform(-3, 3) / 20));
    add_noise(dialogue.user, random);
  }
  return dialogues;
}

const Speech& Composer::agent_phrase(const std::string& text) {
  const auto it = phrases_.find(text);
  if (it != phrases_.end()) return it->second;
  Speech speech = speaker_.speak(text, {kAgentVoice, 1, 1, false});
  std::vector<float> padded(kPhraseEdgeSamples, 0.0F);
  padded.insert(padded.end(), speech.samples.begin(), speech.samples.end());
  const auto frame = static_cast<size_t>(kFrameSamples);
  padded.resize((padded.size() + kPhraseEdgeSamples + frame - 1) / frame * frame, 0.0F);
  for (SpokenWord& word : speech.words) {
    word.start_s += seconds(static_cast<int64_t>(kPhraseEdgeSamples));
    word.end_s += seconds(static_cast<int64_t>(kPhraseEdgeSamples));
  }
  speech.samples = std::move(padded);
  return phrases_.emplace(text, std::move(speech)).first->second;
}

}  // namespace s2s::synth
