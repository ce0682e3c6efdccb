#pragma once
// Backbone: the language model of a speech model. Kind `llm`.

#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/nn/sequence_state.h"
#include "s2s/nn/vocabulary.h"
#include "s2s/parallel/plan.h"

namespace s2s {

class Registries;
struct PromptFormat;  // s2s/data/prompt_format.h

/// Sizes that other parts of a model and the sharding plan need.
struct BackboneShape {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t num_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t intermediate_size = 0;
  bool tied_head = false;  // lm_head uses the embedding's weight
};

/// Base of language models. Children are named as the sharding plan and Hugging Face's checkpoints
/// expect: embed_tokens, layers, norm, lm_head.
class Backbone : public BlockOf<const SequenceInfo&> {
 public:
  ~Backbone() override;
  /// Sizes of the model; constant.
  virtual const BackboneShape& shape() const = 0;
  /// ids [B, T] int64 -> [B, T, H], including the family's embedding scale.
  virtual at::Tensor embed(const at::Tensor& ids_BT) = 0;
  /// Hidden states after the last norm [..., H] -> logits [..., V], complete on every rank.
  /// `soft_cap` false skips a family's final soft cap (as NeMo does, because it calls the head
  /// itself).
  virtual at::Tensor logits(const at::Tensor& hidden, bool soft_cap = true) = 0;
  /// The weight [V, H] that `logits` multiplies with; for chunked losses.
  virtual HeadWeight head() = 0;
  /// The family's cap on logits: cap * tanh(logit / cap); 0: none.
  virtual double logit_soft_cap() const;
  /// The family's sharding plan. Does not change the model.
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  /// Names as in Hugging Face checkpoints of this family.
  virtual NameMap checkpoint_names() const = 0;
  /// The config.json of this model for transformers. Default: null, no counterpart there.
  virtual Config hf_config() const;
  /// True if forward with one position and a state with reserved memory launches the same work
  /// every time, so that a graph of the device can repeat it. Default: false.
  virtual bool steps_repeat() const;
};

/// The parts of a model around its language model at `path`: all blocks that are not part of it,
/// but `heads`, come before its layers, and `heads` after them. The language model's embedding and
/// head may be at the model's own level.
std::vector<StagePart> stages_around(Block& model, const std::string& path,
                                     const std::vector<std::string>& heads = {});

/// The prompt formats of all language models that plugins provide; the plugins are loaded. One that
/// cannot be loaded is left out.
std::vector<PromptFormat> known_prompt_formats(const Registries& registries);

}  // namespace s2s
