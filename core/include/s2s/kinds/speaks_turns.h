#pragma once
// SpeaksTurns: a capability of models (kinds/model_capabilities.h). Shape letters: S samples,
// T frames, K codebooks.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_sampling.h"

namespace s2s {

/// What a speaker says in a conversation.
struct SpokenTurn {
  std::optional<int64_t> speaker;  // none: as the text says, or the model's own
  std::string text;
  at::Tensor audio_S;  // float32 at the codec's rate; undefined: not spoken yet
};

/// How SpeaksTurns speaks.
struct SpeechOptions {
  int64_t max_frames = 128;  // of a turn
  SamplingOptions sampling;  // each turn starts a random stream from the seed
  /// Returns the largest of the numbers that the ranks of a sharded model give: they run all passes
  /// together. Empty: one process.
  std::function<int64_t(int64_t own)> largest = {};
};

/// A turn that a model spoke.
struct SpokenAnswer {
  at::Tensor codes_TK;    // int64, on the host; may have control codes
  at::Tensor audio_S;     // float32 at the codec's rate, on the host
  bool is_ended = false;  // by the model; else by max_frames
};

/// Speaks given texts after turns that were spoken, and ends each itself.
class SpeaksTurns : public HasCodec {
 public:
  ~SpeaksTurns() override;
  /// Speaks the last turn of each conversation, each as if it were alone. Only last turns lack
  /// audio.
  virtual std::vector<SpokenAnswer> speak(const std::vector<std::vector<SpokenTurn>>& conversations,
                                          const SpeechOptions& options) = 0;
};

}  // namespace s2s
