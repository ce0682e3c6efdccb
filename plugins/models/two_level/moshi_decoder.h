#pragma once
// Moshi's main decoder over frames: pre-norm layers with rotary positions and one matrix for gate
// and value. Names are those of transformers. Shape letters: B batch, T frames, H hidden.

#include <memory>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/nn/decoder.h"

namespace s2s::two_level {

/// fc2(silu(gate) * value), where the rows of fc1 are gate, then value.
class PackedMlp : public BlockOf<> {
 public:
  explicit PackedMlp(const DecoderSpec& spec);
  ~PackedMlp() override;
  Linear fc1, fc2;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;
};

/// x + attention(norm(x)), then x + mlp(norm(x)).
class MoshiLayer : public BlockOf<const SequenceInfo&> {
 public:
  MoshiLayer(const DecoderSpec& spec, int64_t layer);
  ~MoshiLayer() override;
  RmsNorm input_layernorm;
  GroupedQueryAttention self_attn;
  RmsNorm post_attention_layernorm;
  PackedMlp mlp;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
};

/// Embedded frames [B, T, H] -> states after the last norm. The text embedding has one row more
/// than the vocabulary: the id that begins the channel.
class MoshiDecoder : public BlockOf<const SequenceInfo&> {
 public:
  explicit MoshiDecoder(DecoderSpec spec);
  ~MoshiDecoder() override;
  Embedding embed_tokens;
  const DecoderSpec& spec() const { return spec_; }
  /// Of the layers, the text embedding and the norm.
  ShardPlan configure_model() const;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;

 private:
  DecoderSpec spec_;
  std::vector<std::unique_ptr<MoshiLayer>> layers_;
  RmsNorm norm_;
  RotaryTables rotary_;
};

}  // namespace s2s::two_level
