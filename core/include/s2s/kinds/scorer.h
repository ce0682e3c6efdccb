#pragma once
// Scorer: an independent listener that writes down what it hears. Kind `scorer`.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace s2s {

/// What a scorer hears.
struct AudioClip {
  at::Tensor samples_S;  // float32 in [-1, 1]
  int64_t sample_rate_hz = 0;
};

/// Transcribes the audio of a model, so that its texts can be compared.
class Scorer {
 public:
  virtual ~Scorer();
  /// Texts of the domain, for the language model. Call once, before transcribing.
  virtual void prepare(const std::vector<std::string>& texts) = 0;
  /// One text per clip; "" when nothing was understood.
  virtual std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) = 0;
  /// What a reader of the scores should know (words that can never be heard); after `prepare`.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace s2s
