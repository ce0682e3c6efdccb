#pragma once
// A decoder-only language model, and its parts. A family is: options, the spec below, a sharding
// plan and a checkpoint name map; no further code.
// Shape letters: B batch, T positions, H hidden, D head_dim, V vocabulary.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/nn/layers.h"
#include "s2s/options.h"

namespace s2s {

/// How rotary frequencies are stretched for longer texts: not; all divided by factor; by wavelength
/// (long ones divided by factor, short ones kept, a ramp between); from a base that grows with the
/// text once it is longer than the original; or YaRN, which is as by wavelength, with the ramp over
/// the pairs' numbers.
enum class RotaryScaling { kNone, kLinear, kByWavelength, kDynamic, kYarn };

/// Rotary position embedding: the angle of pair j at position t is t * inv_freq[j], where
/// inv_freq[j] is theta^(-2j/D), scaled.
struct RotarySpec {
  double theta = 10000.0;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0;  // by wavelength
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192;
  double beta_fast = 32;  // YaRN: pairs that turn more often in the original length are kept
  double beta_slow = 1;   // pairs that turn less often are stretched by the whole factor
  bool truncate = true;   // the ramp begins and ends at whole pairs
  double attention_factor = 1.0;  // cos and sin are multiplied by it
};

/// inv_freq [D / 2] float32 for a text of `num_positions` (which dynamic scaling looks at).
/// Source: transformers modeling_rope_utils.
at::Tensor rotary_inv_freq(const RotarySpec& spec, int64_t head_dim, int64_t num_positions = 0);

/// Cosines and sines of rotary angles. Not buffers of a block, because they stay float32.
class RotaryTables {
 public:
  RotaryTables(RotarySpec spec, int64_t head_dim) : spec_(spec), head_dim_(head_dim) {}
  /// cos and sin [T, D] float32 of positions begin .. begin + count - 1 of a text that ends there.
  /// Dynamic scaling is that of the longest text so far, until one comes that is shorter than the
  /// original length; keys in a cache keep the angles that they were turned by.
  /// Source: transformers modeling_rope_utils, dynamic_rope_update.
  std::pair<at::Tensor, at::Tensor> at_positions(int64_t begin, int64_t count, at::Device device);

 private:
  std::pair<at::Tensor, at::Tensor> compute(int64_t begin, int64_t end, int64_t text_length,
                                            at::Device device) const;

  RotarySpec spec_;
  int64_t head_dim_;
  int64_t longest_ = 0;         // of the texts that dynamic scaling goes by
  at::Tensor cos_TD_, sin_TD_;  // grow on demand
};

/// What attention makes of the scores, and which keys a query sees.
struct AttentionSpec {
  double scale = 0;     // of the products of queries and keys; 0: 1 / sqrt(head_dim)
  double soft_cap = 0;  // scores become cap * tanh(score / cap); 0: they stay
  int64_t window = 0;   // newest positions that a query sees, its own among them; 0: all before it
};

/// What the gate of an MLP goes through; kGeluTanh is the tanh approximation of GELU.
enum class GateActivation { kSilu, kGeluTanh };

/// What tells one decoder family from another, sizes included.
struct DecoderSpec {
  BackboneShape shape;
  RotarySpec rotary;
  AttentionSpec attention;         // its window holds for local layers only
  std::vector<bool> local_layers;  // by layer, true: local; shorter or empty: the rest is global
  std::optional<RotarySpec> local_rotary;  // of local layers; none: as the others
  double norm_eps = 1e-6;
  NormWeight norm_weight = NormWeight::kFactor;
  bool qk_norm = false;     // queries and keys are normed, head by head, before they are turned
  bool post_norms = false;  // the outputs of attention and MLP are normed before they are added
  GateActivation activation = GateActivation::kSilu;
  double embedding_scale = 1.0;     // rounded to the embedding's type before it multiplies
  double logit_soft_cap = 0;        // logits become cap * tanh(logit / cap); 0: they stay
  double initializer_range = 0.02;  // standard deviation of linear layers and tables
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  int64_t padding_idx = -1;  // the id whose embedding gets no gradient from look-ups; -1: none
  /// A file or folder whose weights are the initial values; "": random.
  std::string weights_path;
  /// Names in checkpoints of larger models that are not the language model's ("vision_tower.**");
  /// where there are some, its own may stand under "language_model.model." and
  /// "model.language_model.", too.
  std::vector<std::string> other_parts;
  /// A config.json with which transformers computes the same (decoder_to_hf); null: none.
  Config foreign_config;

  /// Whether a layer (0-based) sees only the newest positions.
  bool is_local(int64_t layer) const {
    const auto i = static_cast<size_t>(layer);
    return i < local_layers.size() && local_layers[i];
  }
};

/// Causal self-attention with fewer key/value heads than query heads. Works on the heads that its
/// projections yield, so that a strategy may leave only some of them on a rank.
class GroupedQueryAttention : public BlockOf<const SequenceInfo&> {
 public:
  GroupedQueryAttention(const DecoderSpec& spec, int64_t layer);
  ~GroupedQueryAttention() override;
  Linear q_proj, k_proj, v_proj, o_proj;
  std::unique_ptr<RmsNorm> q_norm, k_norm;  // [head_dim]; of families that norm queries and keys

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;

 private:
  int64_t layer_;
  int64_t head_dim_;
  AttentionSpec attention_;
};

/// down(activation(gate(x)) * up(x)).
class GatedMlp : public BlockOf<> {
 public:
  explicit GatedMlp(const DecoderSpec& spec);
  ~GatedMlp() override;
  Linear gate_proj, up_proj, down_proj;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;

 private:
  GateActivation activation_;
};

/// x + attention(norm(x)), then x + mlp(norm(x)). With post norms, x + norm(attention(norm(x)))
/// and x + norm(mlp(norm(x))), where Hugging Face's names call the norm after the attention
/// post_attention_layernorm and the one before the MLP pre_feedforward_layernorm.
class DecoderLayer : public BlockOf<const SequenceInfo&> {
 public:
  DecoderLayer(const DecoderSpec& spec, int64_t layer);
  ~DecoderLayer() override;
  RmsNorm input_layernorm;
  GroupedQueryAttention self_attn;
  RmsNorm post_attention_layernorm;
  GatedMlp mlp;
  std::unique_ptr<RmsNorm> pre_feedforward_layernorm, post_feedforward_layernorm;  // post norms

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
};

/// The whole decoder. A family derives from it and adds its plan (and its name map, where it is not
/// Hugging Face's usual one). Padding is on the right, and causal attention never looks there: a
/// mask changes nothing at real positions and is not used.
class Decoder : public Backbone {
 public:
  explicit Decoder(DecoderSpec spec);
  ~Decoder() override;

  const BackboneShape& shape() const override { return spec_.shape; }
  const DecoderSpec& spec() const { return spec_; }
  at::Tensor embed(const at::Tensor& ids_BT) override;
  at::Tensor logits(const at::Tensor& hidden, bool soft_cap = true) override;
  HeadWeight head() override;
  /// "model." before every name but lm_head's.
  NameMap checkpoint_names() const override;
  Config hf_config() const override { return spec_.foreign_config; }

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
  std::unique_ptr<WeightSource> initial_values() override;
  /// The plan of a table for the decoder proper ("layers.*...", "norm"), with vocabulary-parallel
  /// rows and units for the embedding and an untied head, what attention keeps, and the divisors
  /// that attention and MLP need ("num_attention_heads", "num_key_value_heads",
  /// "intermediate_size").
  ShardPlan plan_with(std::vector<TensorRow> rows, std::vector<UnitRow> units) const;

 private:
  DecoderSpec spec_;
  Embedding embed_tokens_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  RmsNorm norm_;
  std::unique_ptr<Linear> lm_head_;  // none when tied
  std::vector<NamedTensor> own_;     // what a checkpoint of the family holds
  RotaryTables rotary_;
  std::optional<RotaryTables> local_rotary_;
};

}  // namespace s2s
