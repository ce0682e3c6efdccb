#pragma once
// Synthetic channels of a dialogue: bursts that rise, fall and pause as speech does.

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "duplex/turn_fit.h"

namespace s2s::test {

class DialogueSound {
 public:
  static constexpr int kRate_hz = 8000;

  /// Speech in the given stretches, digital silence elsewhere.
  DialogueSound(double duration_s, const std::vector<SpeechSegment>& speech, uint32_t seed)
      : samples_(static_cast<size_t>(duration_s * kRate_hz)), random_(seed) {
    add_speech(speech, 0.3F);
  }

  /// Syllables of 0.2 s whose level varies by 12 dB.
  void add_speech(const std::vector<SpeechSegment>& speech, float amplitude) {
    std::uniform_real_distribution<double> level_db(-12, 0), pitch_hz(100, 250);
    for (const SpeechSegment& part : speech) {
      for (double at_s = part.start_s; at_s < part.end_s; at_s += 0.2) {
        const double gain = amplitude * std::pow(10, level_db(random_) / 20);
        add_tone(at_s, std::min(at_s + 0.2, part.end_s), pitch_hz(random_), gain);
      }
    }
  }
  void add_noise(double level_db) {
    std::normal_distribution<float> noise(0, static_cast<float>(std::pow(10, level_db / 20)));
    for (float& sample : samples_) sample += noise(random_);
  }
  /// The other channel, `level_db` up and `delay_s` later.
  void add_crosstalk(const DialogueSound& other, double level_db, double delay_s = 0) {
    const auto delay = static_cast<size_t>(delay_s * kRate_hz);
    const auto gain = static_cast<float>(std::pow(10, level_db / 20));
    for (size_t i = delay; i < samples_.size(); ++i)
      samples_[i] += gain * other.samples_[i - delay];
  }
  void add_offset(float offset) {
    for (float& sample : samples_) sample += offset;
  }
  void add_hum(double level_db) { add_tone(0, duration_s(), 50, std::pow(10, level_db / 20)); }
  /// Notes of half a second without pauses, of levels within 15 dB.
  void add_music(double level_db) {
    std::uniform_real_distribution<double> level(-15, 0), pitch_hz(80, 900);
    for (double at_s = 0; at_s < duration_s(); at_s += 0.5) {
      add_tone(at_s, at_s + 0.5, pitch_hz(random_), std::pow(10, (level_db + level(random_)) / 20));
    }
  }

  const std::vector<float>& samples() const { return samples_; }
  double duration_s() const { return static_cast<double>(samples_.size()) / kRate_hz; }
  std::vector<double> levels_db() const {
    return centered_levels_db(samples_, kRate_hz, data::kTurnFrame_s);
  }

 private:
  void add_tone(double start_s, double end_s, double pitch_hz, double gain) {
    const auto end = std::min(samples_.size(), static_cast<size_t>(end_s * kRate_hz));
    for (auto i = static_cast<size_t>(start_s * kRate_hz); i < end; ++i) {
      const double phase = 6.283185307179586 * pitch_hz * static_cast<double>(i) / kRate_hz;
      samples_[i] += static_cast<float>(gain * std::sin(phase));
    }
  }

  std::vector<float> samples_;
  std::mt19937 random_;
};

}  // namespace s2s::test
