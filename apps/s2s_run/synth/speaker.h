#pragma once
// Speaks a text with one of flite's voices.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace s2s::synth {

constexpr int64_t kSpeechRateHz = 16000;

/// A way to say things. Pitch and stretch are factors on the voice's own.
struct VoiceSetting {
  size_t voice = 0;  // index into voice_names()
  double pitch = 1;
  double stretch = 1;  // above 1 is slower
  bool fast = false;   // fewer coefficients: a fifth less work, hardly to be heard
};

struct SpokenWord {
  std::string text;
  double start_s = 0;
  double end_s = 0;
};

/// Speech at 16 kHz without the pauses around it; times count from its first sample.
struct Speech {
  std::vector<float> samples;
  std::vector<SpokenWord> words;
};

const std::vector<std::string>& voice_names();
/// The agent's voice in voice_names().
constexpr size_t kAgentVoice = 1;

/// Loads the voices once; not for several threads at once.
class Speaker {
 public:
  Speaker();
  ~Speaker();
  /// Words of `text` are separated by single blanks. The result depends on the arguments only.
  /// Errors: [synth/speech] when flite hears another number of words in the text.
  Speech speak(const std::string& text, const VoiceSetting& setting);

 private:
  struct Voices;
  std::unique_ptr<Voices> voices_;
};

}  // namespace s2s::synth
