#pragma once
// A sharding plan is data: what each module of a model does with its weights and activations on
// the tensor axis, and which modules are gathered and freed together on the data axis.
// `configure_model` returns one; it is printed, checked and lowered without touching a model.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// What a module's weight does on the tensor axis (core/docs/internals/sharding.md has the full
/// table).
enum class Style {
  kColwise,
  kRowwise,
  kVocab,
  kBoundary,
  kSequence,
  kPerHead,
  kReplicate,
  kCustom
};
/// Layout of an activation: whole, split over the sequence, or split over the last dim.
enum class Layout { kFull, kSeq, kLast };

/// As in printed plans.
const char* to_string(Style style);
const char* to_string(Layout layout);

/// One row: modules (a dotted path pattern, `*` matches one segment), style, layouts in and out.
struct TensorRow {
  std::string module;
  Style style = Style::kReplicate;
  Layout in = Layout::kFull;
  Layout out = Layout::kFull;
  /// Name of a divisor whose parts (key/value heads) may be held by several ranks each, where the
  /// tensor axis is a multiple of it; "": the axis must divide it.
  std::string repeats = "";
};

/// Modules that are gathered and freed together on the data axis.
struct UnitRow {
  std::string module;
};

/// A number of the model that the tensor axis must divide ("num_key_value_heads", 4).
struct Divisor {
  std::string name;
  int64_t value = 0;
};

struct MeshShape;

/// A weight [groups * V, H] whose product with a last hidden state is logits over `groups`
/// vocabularies. Where its row splits it, a rank has a part of each vocabulary (rounded up, the
/// last ranks may have fewer) and the loss is computed on split logits.
struct HeadRow {
  std::string module;
  int64_t groups = 1;
};

/// Attention between split projections, of which no row says what it keeps for the backward pass.
struct AttentionRow {
  std::string module;
  int64_t num_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t window = 0;         // newest positions that a query sees; 0: all before it
  bool keeps_scores = false;  // a score for each pair of positions is kept (soft caps)
  bool norms_heads = false;   // queries and keys are normed head by head
};

/// What modules do on all axes; module names are patterns, seen from the model of the plan.
struct ShardPlan {
  std::vector<TensorRow> rows;
  std::vector<UnitRow> units;
  std::vector<Divisor> divisors;
  std::vector<HeadRow> heads = {};
  std::vector<AttentionRow> attentions = {};

  /// Ranks of the tensor axis that hold the same part of a row's weights: tensor / n for a row that
  /// repeats a divisor n of which the axis is a multiple (rank r holds part r / copies), else 1.
  int64_t copies(const TensorRow& row, const MeshShape& mesh) const;

  /// The plan of a part, seen from the model that holds it under `prefix`.
  ShardPlan nested_under(const std::string& prefix) const;
  void append(const ShardPlan& other);
};

/// Sizes of the mesh axes, outermost first.
struct MeshShape {
  int64_t pipeline = 1;
  int64_t replicate = 1;
  int64_t shard = 1;
  int64_t context = 1;
  int64_t tensor = 1;
  bool sequence_parallel = true;
  bool replicate_kv_heads = true;  // rows may repeat what they name
  int64_t world_size() const { return pipeline * replicate * shard * context * tensor; }
  int64_t data_size() const { return replicate * shard; }
};

/// True when a dotted path matches a pattern in which `*` stands for exactly one segment.
bool path_matches(const std::string& pattern, const std::string& path);

}  // namespace s2s
