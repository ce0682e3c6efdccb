#pragma once
// Moshi's depth decoder: predicts the books of a frame in turn from the state of the main decoder.
// Each linear map has one matrix per book. There are no positions and no last norm. Shape letters:
// N frames, K codebooks, H hidden of the main decoder, C hidden here.

#include <memory>
#include <utility>
#include <vector>

#include "book_linear.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/layers.h"

namespace s2s::two_level {

/// Keys and values of a frame's books so far, one pair per layer.
struct DepthCache {
  std::vector<std::pair<at::Tensor, at::Tensor>> layers;
  int64_t length = 0;
};

/// Causal attention over the books of a frame.
class DepthAttention : public BlockOf<DepthCache*, int64_t> {
 public:
  DepthAttention(const DecoderSpec& spec, int64_t books, int64_t layer);
  ~DepthAttention() override;

 protected:
  at::Tensor forward(const at::Tensor& x_NKC, DepthCache* cache, int64_t first) override;

 private:
  BookLinear q_proj_, k_proj_, v_proj_, o_proj_;
  int64_t head_dim_, num_groups_, layer_;
};

/// Like MoshiLayer, with one matrix per book.
class DepthLayer : public BlockOf<DepthCache*, int64_t> {
 public:
  DepthLayer(const DecoderSpec& spec, int64_t books, int64_t layer);
  ~DepthLayer() override;

 protected:
  at::Tensor forward(const at::Tensor& x_NKC, DepthCache* cache, int64_t first) override;

 private:
  RmsNorm input_layernorm_, post_attention_layernorm_;
  DepthAttention self_attn_;
  BookLinear fc1_, fc2_;
};

/// Inputs besides the state: position 0 is the frame's text id, position k the code of book k - 1.
struct DepthInput {
  at::Tensor ids_NK;            // int64; with a cache, those after its length
  DepthCache* cache = nullptr;  // for generation
};

/// States [N, H] -> [N, K, C]. Position k predicts book k.
class MoshiDepth : public BlockOf<const DepthInput&> {
 public:
  MoshiDepth(const DecoderSpec& spec, int64_t text_vocab, int64_t audio_vocab, int64_t books,
             int64_t main_hidden);
  ~MoshiDepth() override;
  BookLinear lm_heads;

 protected:
  at::Tensor forward(const at::Tensor& state_NH, const DepthInput& input) override;

 private:
  Embedding text_embed_tokens_;
  std::vector<std::unique_ptr<Embedding>> embed_tokens_;  // the last book is never an input
  BookLinear input_projections_;
  std::vector<std::unique_ptr<DepthLayer>> layers_;
};

}  // namespace s2s::two_level
