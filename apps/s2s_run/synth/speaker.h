#pragma once
// Synthesizes speech with flite's voices.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace s2s::synth {

constexpr int64_t kSpeechRateHz = 16000;

/// A voice setting. Pitch and stretch are factors on the voice's own values.
struct VoiceSetting {
  size_t voice = 0;  // index into voice_names()
  double pitch = 1;
  double stretch = 1;  // above 1 is slower
  bool fast = false;   // fewer coefficients: 20 % faster, barely audible
};

struct SpokenWord {
  std::string text;
  double start_s = 0;
  double end_s = 0;
};

/// Speech at 16 kHz, without silence at its edges. Times are relative to its first sample.
struct Speech {
  std::vector<float> samples;
  std::vector<SpokenWord> words;
};

const std::vector<std::string>& voice_names();
/// Index of the agent's voice in voice_names().
constexpr size_t kAgentVoice = 1;

/// Loads the voices once. Not thread-safe.
class Speaker {
 public:
  Speaker();
  ~Speaker();
  /// Words of `text` must be separated by single spaces. The result depends only on the arguments.
  /// Errors: [synth/speech] when flite finds another number of words in the text.
  Speech speak(const std::string& text, const VoiceSetting& setting);

 private:
  struct Voices;
  std::unique_ptr<Voices> voices_;
};

}  // namespace s2s::synth
