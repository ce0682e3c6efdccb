#pragma once
// Backbone: the language model of a speech model. Kind `llm`.

#include <memory>
#include <utility>
#include <vector>

#include "s2s/batch.h"
#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/nn/vocabulary.h"
#include "s2s/parallel/plan.h"

namespace s2s {

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

class FixedKeys;

/// Keys and values of the frames seen so far, one pair per layer. The memory grows by doubling.
class KvCache {
 public:
  explicit KvCache(int64_t num_layers);
  ~KvCache();
  /// Appends k, v [B, heads, T, head_dim] of one layer and returns views of everything so far. With
  /// window > 0 (the number of positions that a query sees, including its own), returns only the
  /// last window - 1 positions before the new ones and forgets older ones.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                                           int64_t window = 0);
  /// Number of cached frames, not counting the current step.
  int64_t length() const { return length_; }
  /// Called by the backbone once per forward, after the last layer.
  void advance(int64_t num_frames);
  /// Called in place of `advance` for a step that the device repeats from a graph.
  void advance_host(int64_t num_frames) { length_ += num_frames; }
  void clear();
  /// Keeps these rows [N] int64 of the batch, in this order; a row may occur more than once. Not
  /// with reserved memory.
  void select_rows(const at::Tensor& rows_N);

  /// Gives the keys memory for at least `positions` frames in all, so that steps with one frame
  /// have the same shapes until that many are cached. Begins with an empty cache, and is called
  /// before each step. Does nothing on a CPU: there, shapes cost nothing.
  void reserve(int64_t positions, at::Device device);
  /// Frames that there is memory for; 0 unless it was reserved.
  int64_t capacity() const;
  /// The reserved memory, for core's own attention; null unless there is some.
  FixedKeys* fixed() { return fixed_.get(); }

 private:
  struct Entry {
    at::Tensor k, v;
    int64_t begin = 0;  // index of the oldest position in the memory
    int64_t used = 0;
  };
  std::vector<Entry> entries_;
  int64_t length_ = 0;
  std::unique_ptr<FixedKeys> fixed_;
};

/// What a decoder block needs in addition to its input.
struct SequenceInfo {
  KvCache* cache = nullptr;   // set while generating; positions continue after its length
  at::Tensor cos_TD, sin_TD;  // rotary tables of these positions; filled by the backbone
  /// [B, T] bool, true = real; optional, right padding (pure causal attention needs none).
  at::Tensor mask_BT;
  /// Packed documents of the only row (B is 1), in order and without gaps. Attention does not cross
  /// them, and positions begin at 0 in each. Null: a document per row. Not with a cache.
  std::shared_ptr<const std::vector<DocumentSpan>> documents;
  at::Tensor document_begins;  // [documents + 1] int32, on devices; filled by the backbone
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
  /// True if forward with one position and a cache with reserved memory launches the same work
  /// every time, so that a graph of the device can repeat it. Default: false.
  virtual bool steps_repeat() const;
};

}  // namespace s2s
