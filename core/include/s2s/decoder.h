#pragma once
// A decoder-only language model, and its parts. A family is: options, the facts below, a sharding
// plan and a checkpoint name map; no further code.
// Shape letters: B batch, T positions, H hidden, D head_dim, V vocabulary.

#include <memory>
#include <string>
#include <vector>

#include "s2s/backbone.h"
#include "s2s/layers.h"
#include "s2s/options.h"

namespace s2s {

/// How rotary frequencies are stretched for longer texts: not; all divided by factor; or, by
/// wavelength, long ones divided by factor, short ones kept, and a ramp between.
enum class RotaryScaling { kNone, kLinear, kByWavelength };

/// Rotary position embedding: the angle of pair j at position t is t * inv_freq[j], where
/// inv_freq[j] is theta^(-2j/D), scaled.
struct RotaryFacts {
  double theta = 10000.0;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192;
};

/// inv_freq [D / 2] float32.  Source: transformers modeling_rope_utils.
at::Tensor rotary_inv_freq(const RotaryFacts& facts, int64_t head_dim);

/// What tells one decoder family from another, sizes included.
struct DecoderFacts {
  BackboneShape shape;
  RotaryFacts rotary;
  double norm_eps = 1e-6;
  double initializer_range = 0.02;  // standard deviation of linear layers and tables
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  int64_t padding_idx = -1;  // the id whose embedding gets no gradient from look-ups; -1: none
  /// A file or folder whose weights are the first values; "": random.
  std::string weights_path;
};

/// Causal self-attention with fewer key/value heads than query heads. Works on the heads that its
/// projections yield, so that a strategy may leave only some of them on a rank.
class GroupedQueryAttention : public BlockOf<const SequenceInfo&> {
 public:
  GroupedQueryAttention(const DecoderFacts& facts, int64_t layer);
  ~GroupedQueryAttention() override;
  Linear q_proj, k_proj, v_proj, o_proj;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;

 private:
  int64_t layer_;
  int64_t head_dim_;
};

/// down(silu(gate(x)) * up(x)).
class GatedMlp : public BlockOf<> {
 public:
  explicit GatedMlp(const DecoderFacts& facts);
  ~GatedMlp() override;
  Linear gate_proj, up_proj, down_proj;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;
};

/// x + attention(norm(x)), then x + mlp(norm(x)).
class DecoderLayer : public BlockOf<const SequenceInfo&> {
 public:
  DecoderLayer(const DecoderFacts& facts, int64_t layer);
  ~DecoderLayer() override;
  RmsNorm input_layernorm;
  GroupedQueryAttention self_attn;
  RmsNorm post_attention_layernorm;
  GatedMlp mlp;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
};

/// The whole decoder. A family derives from it and adds its plan (and its name map, where it is not
/// Hugging Face's usual one). Padding is on the right, and causal attention never looks there: a
/// mask changes nothing at real positions and is not used.
class Decoder : public Backbone {
 public:
  explicit Decoder(DecoderFacts facts);
  ~Decoder() override;

  const BackboneShape& shape() const override { return facts_.shape; }
  const DecoderFacts& facts() const { return facts_; }
  at::Tensor embed(const at::Tensor& ids_BT) override;
  at::Tensor logits(const at::Tensor& hidden, bool soft_cap = true) override;
  at::Tensor head_weight() override;
  /// "model." before every name but lm_head's.
  NameMap checkpoint_names() const override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
  void load_first_values() override;
  /// The plan of a table for the decoder proper ("layers.*...", "norm"), with rows for the
  /// embedding and an untied head, and the divisors that attention and MLP need.
  ShardPlan plan_with(std::vector<TensorRow> rows, std::vector<UnitRow> units) const;

 private:
  /// cos and sin [T, D] float32 of positions begin .. begin + count - 1.
  std::pair<at::Tensor, at::Tensor> rotary_tables(int64_t begin, int64_t count, at::Device device);

  DecoderFacts facts_;
  Embedding embed_tokens_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  RmsNorm norm_;
  std::unique_ptr<Linear> lm_head_;  // none when tied
  std::vector<NamedTensor> own_;     // what a checkpoint of the family holds
  at::Tensor cos_TD_, sin_TD_;       // grow on demand; not buffers, because they stay float32
};

}  // namespace s2s
