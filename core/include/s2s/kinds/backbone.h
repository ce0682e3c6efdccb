#pragma once
// Backbone: the language model that a speech model is built around. Kind `llm`.

#include <memory>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/nn/vocabulary.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// Sizes that the rest of a model and a plan need.
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

/// Keys and values of the frames seen so far, one pair per layer, in memory that grows by doubling.
class KvCache {
 public:
  explicit KvCache(int64_t num_layers);
  ~KvCache();
  /// Appends k, v [B, heads, T, head_dim] of one layer; returns views of everything so far. With
  /// window > 0 (the newest positions that a query sees, its own among them) only of the last
  /// window - 1 positions before the new ones: older ones are forgotten.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                                           int64_t window = 0);
  /// Frames that all layers hold (the first layer's count, before the current step's append).
  int64_t length() const { return length_; }
  /// Called by the backbone once per forward, after the last layer.
  void advance(int64_t num_frames) { length_ += num_frames; }
  void clear();

 private:
  struct Entry {
    at::Tensor k, v;
    int64_t begin = 0;  // where in the memory the oldest position lies
    int64_t used = 0;
  };
  std::vector<Entry> entries_;
  int64_t length_ = 0;
};

/// What a decoder block needs beside its input.
struct SequenceInfo {
  KvCache* cache = nullptr;   // set while generating; positions continue after its length
  at::Tensor cos_TD, sin_TD;  // rotary tables of these positions; filled by the backbone
  /// [B, T] bool, true = real; optional, right padding (pure causal attention needs none).
  at::Tensor mask_BT;
};

/// Children are named as the sharding plan and Hugging Face's names expect: embed_tokens, layers,
/// norm, lm_head.
class Backbone : public BlockOf<const SequenceInfo&> {
 public:
  ~Backbone() override;
  /// Sizes; the same at all times.
  virtual const BackboneShape& shape() const = 0;
  /// ids [B, T] int64 -> [B, T, H], with the family's own embedding scale.
  virtual at::Tensor embed(const at::Tensor& ids_BT) = 0;
  /// Hidden states after the last norm [..., H] -> logits [..., V], whole on every rank. `soft_cap`
  /// false leaves a family's final soft cap out (as NeMo does when it calls the head itself).
  virtual at::Tensor logits(const at::Tensor& hidden, bool soft_cap = true) = 0;
  /// What `logits` multiplies with, weight [V, H]; for chunked losses.
  virtual HeadWeight head() = 0;
  /// The family's sharding plan; returns data and touches nothing.
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  /// Names as in Hugging Face checkpoints of this family.
  virtual NameMap checkpoint_names() const = 0;
  /// The config.json that transformers would have of this model. Null (here): it has no counterpart
  /// there.
  virtual Config hf_config() const;
};

}  // namespace s2s
