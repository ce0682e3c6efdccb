#pragma once
// Layers of transformers that are no decoders of language models (s2s/nn/decoder.h has those), and
// steps of attention that all share. Shape letters: B batch, T positions, U positions that are
// seen, H width, N heads, D elements of a head.

#include <functional>
#include <string>
#include <vector>

#include "s2s/nn/layers.h"
#include "s2s/nn/sequence_state.h"

namespace s2s {

/// [B, T, N * D] -> [B, N, T, D].
at::Tensor to_heads(const at::Tensor& x, int64_t head_dim);
/// [B, N, T, D] -> [B, T, N * D].
at::Tensor from_heads(const at::Tensor& x_BNTD);

/// Rotates the pairs (j, j + D / 2) by the angles of cosines and sines [T, D], in the dtype of x.
at::Tensor rotate_halves(const at::Tensor& x_BNTD, const at::Tensor& cos_TD,
                         const at::Tensor& sin_TD);

/// Attention of some rows over their keys.
using AttendTo = std::function<at::Tensor(const at::Tensor& q, const SeenKeys& keys)>;
/// Attention of queries [B, ...] over what a state returned for their rows: one entry of keys for
/// all rows, or one for each.
at::Tensor attend_seen(const at::Tensor& q, const std::vector<SeenKeys>& seen,
                       const AttendTo& attend);

/// Sizes of an attention, and the names of its projections.
struct MultiHeadAttentionSpec {
  int64_t width = 0;       // H of the positions and of the output
  int64_t seen_width = 0;  // of the positions that are seen; 0: width
  int64_t num_heads = 1;
  double dropout = 0;  // of the attention's weights
  bool has_key_bias = true;
  std::string query = "q_proj", key = "k_proj", value = "v_proj", out = "out_proj";
};

/// Multi-head attention to all positions that a mask leaves: of a sequence to itself, or to another
/// one (cross attention).
class MultiHeadAttention : public Block {
 public:
  /// The number of heads divides the width.
  explicit MultiHeadAttention(const MultiHeadAttentionSpec& spec);
  ~MultiHeadAttention() override;
  /// x [B, T, H], seen [B, U, H'] -> [B, T, H]. `mask` broadcasts to [B, N, T, U]: bool, true where
  /// a position is seen; or a bias of the scores, as for relative positions, in the dtype of x;
  /// undefined: everything is seen. Where nothing is seen, the output is that of zeros.
  at::Tensor operator()(const at::Tensor& x_BTH, const at::Tensor& seen_BUH,
                        const at::Tensor& mask = {});

 private:
  MultiHeadAttentionSpec spec_;
  Linear query_, key_, value_, out_;
};

/// How a feed-forward is activated.
enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

/// Sizes of an encoder's layer, and the names of its parts. The defaults are Whisper's.
struct EncoderLayerSpec {
  MultiHeadAttentionSpec attention;
  int64_t inner_width = 0;  // of the feed-forward
  Activation activation = Activation::kGelu;
  double dropout = 0;  // of the outputs of attention and feed-forward
  double inner_dropout = 0;
  double norm_epsilon = 1e-5;
  bool norm_first = true;  // x + f(norm(x)); false: norm(x + f(x))
  std::string attention_name = "self_attn", attention_norm = "self_attn_layer_norm";
  std::string inner = "fc1", outer = "fc2", final_norm = "final_layer_norm";
};

/// A layer in which each position sees all that the mask leaves: attention and a feed-forward, each
/// with a residual connection and a LayerNorm.
class EncoderLayer : public BlockOf<const at::Tensor&> {
 public:
  explicit EncoderLayer(const EncoderLayerSpec& spec);
  ~EncoderLayer() override;

 protected:
  /// x [B, T, H] -> [B, T, H]; `mask`: as of MultiHeadAttention.
  at::Tensor forward(const at::Tensor& x_BTH, const at::Tensor& mask) override;

 private:
  at::Tensor feed_forward(const at::Tensor& x_BTH);

  EncoderLayerSpec spec_;
  MultiHeadAttention attention_;
  LayerNorm attention_norm_;
  Linear inner_, outer_;
  LayerNorm final_norm_;
};

}  // namespace s2s
