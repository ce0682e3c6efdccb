#pragma once
// Moshi's main decoder over frames: pre-norm layers with rotary positions and one matrix for gate
// and value. Names are transformers'. Shape letters: B batch, T frames, H hidden.

#include "s2s/nn/decoder.h"

namespace s2s::two_level {

/// fc2(silu(gate) * value), where the rows of fc1 are gate, then value.
class PackedMlp : public FeedForward {
 public:
  explicit PackedMlp(const DecoderSpec& spec);
  ~PackedMlp() override;
  Linear fc1, fc2;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;
};

/// Embedded frames [B, T, H] -> states after the last norm. The model owns the heads. The text
/// embedding has one more row than the vocabulary: the id that starts the channel.
class MoshiDecoder : public Decoder {
 public:
  explicit MoshiDecoder(DecoderSpec spec);
  ~MoshiDecoder() override;
  /// The plan of the layers, the text embedding and the norm.
  ShardPlan configure_model(const MeshShape& mesh) const override;
};

}  // namespace s2s::two_level
