#pragma once
// A sharding plan is data: how each module of a model splits its weights and activations over the
// tensor axis, and which modules are sharded units on the data axis. `configure_model` returns it.
// It is printed, checked and applied without changing model code.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// How a module's weight is split over the tensor axis (core/docs/internals/sharding.md has the
/// full table).
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

/// The names in printed plans.
const char* to_string(Style style);
const char* to_string(Layout layout);

/// One row: a dotted path pattern of modules (`*` matches one segment), style, layouts of input and
/// output.
struct TensorRow {
  std::string module;
  Style style = Style::kReplicate;
  Layout in = Layout::kFull;
  Layout out = Layout::kFull;
  /// Name of a divisor whose parts (key/value heads) may be replicated on several ranks, if the
  /// tensor axis is a multiple of it; "": the tensor axis must divide it.
  std::string repeats = "";
  /// Parts of equal size that a colwise weight consists of, one above the other (gate and value in
  /// one matrix). Each rank has its share of every part.
  int64_t stacked = 1;
};

/// Modules that are one sharded unit each.
struct UnitRow {
  std::string module;
};

/// A size of the model that must be divisible by the tensor axis ("num_key_value_heads", 4).
struct Divisor {
  std::string name;
  int64_t value = 0;
};

struct MeshShape;

/// A head: a weight [groups * V, H] that maps the last hidden state to logits over `groups`
/// vocabularies. If its row splits it, each rank has a part of each vocabulary (rounded up; the
/// last ranks may have fewer), and the loss is computed on split logits.
struct HeadRow {
  std::string module;
  int64_t groups = 1;
};

/// Attention between split projections. Used to estimate the activations that it keeps for
/// backward.
struct AttentionRow {
  std::string module;
  int64_t num_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t window = 0;         // positions that a query sees; 0: no limit
  bool keeps_scores = false;  // keeps the full score matrix (soft caps)
  bool norms_heads = false;   // norms queries and keys per head
};

/// The plan for all axes. Module names are patterns relative to the plan's model.
struct ShardPlan {
  std::vector<TensorRow> rows;
  std::vector<UnitRow> units;
  std::vector<Divisor> divisors;
  std::vector<HeadRow> heads = {};
  std::vector<AttentionRow> attentions = {};

  /// Number of ranks of the tensor axis that have the same part of a row's weights: tensor / n if
  /// the row repeats a divisor n and the axis is a multiple of n (rank r has part r / copies), else
  /// 1.
  int64_t copies(const TensorRow& row, const MeshShape& mesh) const;

  /// The same plan relative to a parent model that has this module under `prefix`. beside: modules
  /// that the parent has at its own level.
  ShardPlan nested_under(const std::string& prefix,
                         const std::vector<std::string>& beside = {}) const;
  void append(const ShardPlan& other);
};

/// Blocks that one stage of a pipeline has together.
struct StagePart {
  std::string name;                 // "embedding", "layers.0", "heads"
  std::vector<std::string> blocks;  // paths in the model
};

/// Sizes of the mesh axes, outermost first.
struct MeshShape {
  int64_t pipeline = 1;
  int64_t replicate = 1;
  int64_t shard = 1;
  int64_t context = 1;
  int64_t tensor = 1;
  bool sequence_parallel = true;
  bool replicate_kv_heads = true;  // rows may replicate their divisor's parts
  int64_t world_size() const { return pipeline * replicate * shard * context * tensor; }
  int64_t data_size() const { return replicate * shard; }
};

/// True when a dotted path matches a pattern; `*` matches exactly one segment.
bool path_matches(const std::string& pattern, const std::string& path);

}  // namespace s2s
