#pragma once
// A network that computes a vector of a voice.

#include "s2s/nn/block.h"

namespace s2s::wav2vec2 {

class VoiceModel : public Block {
 public:
  /// Audio [S] at the model's rate -> [D]; undefined if the audio is too short.
  virtual at::Tensor operator()(const at::Tensor& audio_S) = 0;
  virtual int64_t sample_rate_hz() const = 0;
};

}  // namespace s2s::wav2vec2
