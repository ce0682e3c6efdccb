#pragma once
// A decoder-only language model and its parts. A family consists of options, the spec below, a
// sharding plan and a checkpoint name map; it needs no further code. Shape letters: B batch, T
// positions, H hidden, D head_dim, V vocabulary.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/nn/layers.h"
#include "s2s/options.h"

namespace s2s {

/// How rotary frequencies are scaled for longer texts. kNone: not at all. kLinear: all are divided
/// by factor. kByWavelength (rope_type llama3): long wavelengths are divided by factor, short ones
/// are kept, with a ramp between. kDynamic: the base grows with the text once it is longer than the
/// original length. kYarn: like kByWavelength, but the ramp is over the indices of the pairs.
/// kLongRope: each pair has a divisor, and another one in texts beyond the original length.
enum class RotaryScaling { kNone, kLinear, kByWavelength, kDynamic, kYarn, kLongRope };

/// Rotary position embedding: the angle of pair j at position t is t * inv_freq[j], where
/// inv_freq[j] is theta^(-2j/D), after scaling.
struct RotarySpec {
  double theta = 10000.0;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0;  // by wavelength
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192;
  double beta_fast = 32;          // YaRN: pairs with more rotations are not scaled
  double beta_slow = 1;           // YaRN: pairs with fewer rotations are fully scaled
  bool truncate = true;           // the ends of the ramp are rounded to whole pairs
  double attention_factor = 1.0;  // cos and sin are multiplied by it
  /// LongRoPE: a divisor for each pair, of texts up to the original length and of longer ones.
  std::vector<double> short_factors = {}, long_factors = {};
};

/// inv_freq [D / 2] float32 for a text of `num_positions` (used by dynamic scaling and LongRoPE).
/// Source: transformers modeling_rope_utils.
at::Tensor rotary_inv_freq(const RotarySpec& spec, int64_t head_dim, int64_t num_positions = 0);

/// Cosines and sines of rotary angles, for the attention layers that share them. They are not
/// buffers of a block, because they stay float32.
class RotaryTables {
 public:
  RotaryTables(RotarySpec spec, int64_t head_dim) : spec_(std::move(spec)), head_dim_(head_dim) {}
  /// cos and sin [T, D] float32 of positions begin .. begin + count - 1 of a text that ends there.
  /// Dynamic scaling uses the length of the longest text so far, and starts again when a text is
  /// shorter than the original length. Keys in a state keep the angles that they were rotated by.
  /// Errors: [llm/long-cache] when a text with kept keys (begin > 0) grows past LongRoPE's
  /// original length, where transformers computes all keys again.
  /// Source: transformers modeling_rope_utils, dynamic_rope_update.
  std::pair<at::Tensor, at::Tensor> at_positions(int64_t begin, int64_t count, at::Device device);
  /// Sets the device and the dtype of the next steps' tables, and forgets those of the last one.
  void begin_step(at::Device device, at::ScalarType dtype);
  /// cos and sin [N, D] of a step's columns. N is T, or B * T when rows have positions of their
  /// own. The first layer of a step makes them. Errors: as at_positions.
  const std::pair<at::Tensor, at::Tensor>& of(const Positions& positions, int64_t num_columns);
  /// Whether the angles depend on the length of the text.
  bool is_dynamic() const {
    return spec_.scaling == RotaryScaling::kDynamic || spec_.scaling == RotaryScaling::kLongRope;
  }

 private:
  struct Table {
    at::Tensor cos_TD, sin_TD;  // grow on demand
  };
  void grow(Table& table, int64_t end, int64_t text_length, at::Device device);
  std::pair<at::Tensor, at::Tensor> compute(int64_t begin, int64_t end, int64_t text_length,
                                            at::Device device) const;
  std::pair<at::Tensor, at::Tensor> tables_of(const Positions& positions, int64_t num_columns);

  RotarySpec spec_;
  int64_t head_dim_;
  int64_t longest_ = 0;               // longest text so far, for dynamic scaling
  Table short_, long_;                // long_: of LongRoPE's long texts
  std::vector<at::Tensor> outgrown_;  // a graph that was recorded with them may still read them
  // Of the step.
  at::Device device_ = at::kCPU;
  at::ScalarType dtype_ = at::kFloat;
  Positions made_for_;
  int64_t made_columns_ = 0;
  std::pair<at::Tensor, at::Tensor> made_;
};

/// How attention scales scores, and which keys a query sees.
struct AttentionSpec {
  double scale = 0;     // of the products of queries and keys; 0: 1 / sqrt(head_dim)
  double soft_cap = 0;  // scores become cap * tanh(score / cap); 0: no cap
  int64_t window = 0;   // positions that a query sees, including its own; 0: no limit
  double dropout = 0;   // probability that a weight is dropped while training
};

/// Activation function of the MLP's gate; kGeluTanh is the tanh approximation of GELU.
enum class GateActivation { kSilu, kGeluTanh };

struct DecoderSpec;

/// Mixes the columns of a sequence: attention, or a recurrence. [B, T, H] -> [B, T, H].
using Mixer = BlockOf<const SequenceInfo&>;
/// Computes each column on its own: an MLP, or experts. [B, T, H] -> [B, T, H].
using FeedForward = BlockOf<>;

/// A block and its name in the layer, as checkpoints have it.
template <class Part>
struct NamedPart {
  std::string name;
  std::unique_ptr<Part> block;
};

/// Makes the mixer of a layer (0-based). `rotary`: the angles of the layer's positions.
using MakeMixer = std::function<NamedPart<Mixer>(const DecoderSpec& spec, int64_t layer,
                                                 const std::shared_ptr<RotaryTables>& rotary)>;
/// Makes the feed-forward of a layer.
using MakeFeedForward =
    std::function<NamedPart<FeedForward>(const DecoderSpec& spec, int64_t layer)>;

/// The layers begin .. end - 1 of a decoder; end -1: to the last one.
struct LayerRange {
  int64_t begin = 0;
  int64_t end = -1;
};

/// Everything that differs between decoder families, including sizes.
struct DecoderSpec {
  BackboneShape shape;
  RotarySpec rotary;
  AttentionSpec attention;                 // its window applies to local layers only
  std::vector<bool> local_layers;          // by layer, true: local; missing layers are global
  std::optional<RotarySpec> local_rotary;  // of local layers; none: as global layers
  double norm_eps = 1e-6;
  NormWeight norm_weight = NormWeight::kFactor;
  bool qk_norm = false;     // norm queries and keys per head, before rotation
  bool post_norms = false;  // norm the outputs of attention and MLP before they are added
  GateActivation activation = GateActivation::kSilu;
  double embedding_scale = 1.0;     // rounded to the embedding's dtype before the product
  double logit_soft_cap = 0;        // logits become cap * tanh(logit / cap); 0: no cap
  double initializer_range = 0.02;  // standard deviation of linear and embedding weights
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  int64_t padding_idx = -1;  // the id whose embedding gets no gradient from look-ups; -1: none
  /// A file or folder with the weights to start from; "": random initialization.
  std::string weights_path;
  /// Name patterns in multimodal checkpoints that do not belong to the language model
  /// ("vision_tower.**"). If set, the language model's names may also begin with
  /// "language_model.model." or "model.language_model.".
  std::vector<std::string> other_parts;
  /// The config.json with which transformers computes the same model (decoder_to_hf); null: none.
  Config foreign_config;
  MakeMixer mixer = {};               // empty: "self_attn", GroupedQueryAttention
  MakeFeedForward feed_forward = {};  // empty: "mlp", GatedMlp
  /// The layers that this decoder has, as a stage of a pipeline. The first stage embeds, the last
  /// one has the norm and the head. Names are those of the whole decoder.
  LayerRange stage;

  /// True when the layer (0-based) uses the attention window.
  bool is_local(int64_t layer) const {
    const auto i = static_cast<size_t>(layer);
    return i < local_layers.size() && local_layers[i];
  }
};

/// Causal self-attention with fewer key/value heads than query heads. Uses the number of heads that
/// its projections return, so that a strategy can keep only some of them on a rank.
class GroupedQueryAttention : public BlockOf<const SequenceInfo&> {
 public:
  GroupedQueryAttention(const DecoderSpec& spec, int64_t layer,
                        std::shared_ptr<RotaryTables> rotary);
  ~GroupedQueryAttention() override;
  Linear q_proj, k_proj, v_proj, o_proj;
  std::unique_ptr<RmsNorm> q_norm, k_norm;  // [head_dim]; only with qk_norm

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;

 private:
  /// Queries, keys and values [B, heads, T, D], normed and rotated.
  struct Projected {
    at::Tensor q, k, v;
  };
  Projected project(const at::Tensor& x_BTH, const SequenceInfo& info);
  Projected project_at(const at::Tensor& x_BTH, const at::Tensor& cos_TD, const at::Tensor& sin_TD);
  /// Over the keys that the state keeps, and the new ones.
  at::Tensor attend_kept(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const SequenceInfo& info, const AttentionSpec& spec) const;

  int64_t layer_;
  int64_t head_dim_;
  AttentionSpec attention_;
  std::shared_ptr<RotaryTables> rotary_;
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

/// x + mixer(norm(x)), then x + feed_forward(norm(x)). With post norms: x + norm(mixer(norm(x))),
/// then x + norm(feed_forward(norm(x))). In that case Hugging Face calls the norm after the mixer
/// post_attention_layernorm, and the norm before the MLP pre_feedforward_layernorm.
class DecoderLayer : public BlockOf<const SequenceInfo&> {
 public:
  DecoderLayer(const DecoderSpec& spec, int64_t layer, const std::shared_ptr<RotaryTables>& rotary);
  ~DecoderLayer() override;
  RmsNorm input_layernorm;
  NamedPart<Mixer> mixer;
  RmsNorm post_attention_layernorm;
  NamedPart<FeedForward> feed_forward;
  std::unique_ptr<RmsNorm> pre_feedforward_layernorm, post_feedforward_layernorm;  // post norms

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
};

/// The whole decoder. A family derives from it and adds its plan (and its name map, if it differs
/// from the usual one of Hugging Face). Padding is on the right, where causal attention never
/// looks, so a mask would not change real positions and is not used.
class Decoder : public Backbone {
 public:
  explicit Decoder(DecoderSpec spec);
  ~Decoder() override;

  const BackboneShape& shape() const override { return spec_.shape; }
  const DecoderSpec& spec() const { return spec_; }
  /// A stage without the embedding returns its input, which is then the states of the stage before;
  /// one without the head returns the states as logits.
  at::Tensor embed(const at::Tensor& ids_BT) override;
  at::Tensor logits(const at::Tensor& hidden, bool soft_cap = true) override;
  HeadWeight head() override;
  double logit_soft_cap() const override { return spec_.logit_soft_cap; }
  /// Adds "model." to every name except lm_head's.
  NameMap checkpoint_names() const override;
  Config hf_config() const override { return spec_.foreign_config; }
  bool steps_repeat() const override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override;
  std::unique_ptr<WeightSource> initial_values() override;
  /// Completes the rows of the decoder layers ("layers.*...", "norm") to a plan. Adds
  /// vocabulary-parallel rows and units for the embedding and an untied head, the attention rows,
  /// and the divisors of attention and MLP ("num_attention_heads", "num_key_value_heads",
  /// "intermediate_size").
  ShardPlan plan_with(std::vector<TensorRow> rows, std::vector<UnitRow> units) const;

 private:
  bool is_first() const { return spec_.stage.begin == 0; }
  bool is_last() const { return spec_.stage.end == spec_.shape.num_layers; }

  DecoderSpec spec_;
  std::shared_ptr<RotaryTables> rotary_, local_rotary_;
  std::unique_ptr<Embedding> embed_tokens_;  // of the first stage, and of a tied head
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  std::unique_ptr<RmsNorm> norm_;    // of the last stage
  std::unique_ptr<Linear> lm_head_;  // of the last stage; null when tied
  std::vector<NamedTensor> own_;     // tensors of this family's checkpoints
};

/// The rows of a plan for layers with attention and a gated MLP, and for the last norm, in order of
/// execution; with head norms and post norms where the spec has them.
std::vector<TensorRow> decoder_rows(const DecoderSpec& spec);

}  // namespace s2s
