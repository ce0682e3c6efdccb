#pragma once
// An encoder of short sequences with attention between all positions: transformers'
// T5GemmaEncoderModel without its embedding table. Shape letters: N sequences, L positions, H
// width, D elements of a head.

#include <memory>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/nn/layers.h"
#include "tts_options.h"

namespace s2s::eartts {

/// The sizes of a gated MLP with tanh-approximated GELU.
DecoderSpec gelu_mlp_spec(int64_t hidden_size, int64_t intermediate_size);

class CharAttention : public Block {
 public:
  explicit CharAttention(const CharEncoderOptions& options);
  ~CharAttention() override;
  /// x [N, L, H]; cos and sin [L, D]; hidden_keys [N, 1, 1, L] bool, true: masked.
  at::Tensor operator()(const at::Tensor& x_NLH, const at::Tensor& cos_LD, const at::Tensor& sin_LD,
                        const at::Tensor& hidden_keys);

 private:
  CharEncoderOptions options_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

class CharLayer : public Block {
 public:
  explicit CharLayer(const CharEncoderOptions& options);
  ~CharLayer() override;
  at::Tensor operator()(const at::Tensor& x_NLH, const at::Tensor& cos_LD, const at::Tensor& sin_LD,
                        const at::Tensor& hidden_keys);

 private:
  RmsNorm pre_self_attn_layernorm_;
  CharAttention self_attn_;
  RmsNorm post_self_attn_layernorm_;
  RmsNorm pre_feedforward_layernorm_;
  GatedMlp mlp_;
  RmsNorm post_feedforward_layernorm_;
};

class CharEncoder : public Block {
 public:
  explicit CharEncoder(const CharEncoderOptions& options);
  ~CharEncoder() override;
  /// Embeddings [N, L, H] and mask [N, L] bool (true: a character) -> states [N, L, H].
  at::Tensor operator()(const at::Tensor& embedded_NLH, const at::Tensor& mask_NL);

 private:
  CharEncoderOptions options_;
  RotaryTables rotary_;
  std::vector<std::unique_ptr<CharLayer>> layers_;
  RmsNorm norm_;
};

}  // namespace s2s::eartts
