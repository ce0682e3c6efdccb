#pragma once
// Scorer: an independent speech recognizer that transcribes the model's audio. Kind `scorer`.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// The input of a scorer.
struct AudioClip {
  at::Tensor samples_S;  // float32 in [-1, 1]
  int64_t sample_rate_hz = 0;
};

/// A word that was recognized, from its first frame to the end of its last one.
struct RecognizedWord {
  std::string text;
  double start_s = 0;
  double end_s = 0;
  std::optional<double> confidence;  // from 0 to 1; empty for a recognizer that has none
};

/// What was recognized in a clip.
struct Transcript {
  std::string text;
  std::vector<RecognizedWord> words;  // empty for a recognizer without times
  std::optional<double> confidence;   // of the whole text, from 0 to 1
};

/// Transcribes the audio of a model, so that the transcripts can be compared with texts.
class Scorer {
 public:
  virtual ~Scorer();
  /// Sets texts of the domain, for the recognizer's language model. Call it once, before
  /// transcribing.
  virtual void prepare(const std::vector<std::string>& texts) = 0;
  /// One text per clip; "" when no words were recognized.
  virtual std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) = 0;
  /// The same texts with the times of their words. Default: without words.
  virtual std::vector<Transcript> transcripts(const std::vector<AudioClip>& clips);
  /// Remarks that help to interpret the scores (words that cannot be recognized). Call it after
  /// `prepare`.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace s2s
