#pragma once
// A model as its sharding plan sees it: every parameter with its row, its unit and its share on one
// rank. Reads descriptions only; the model needs no memory.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// One name of one parameter (a tied tensor has several).
struct PlannedParameter {
  std::string module;                 // "layers.3.mlp.up_proj"
  std::string name;                   // "layers.3.mlp.up_proj.weight"
  const at::Tensor* tensor;           // its identity
  std::vector<int64_t> sizes;         // whole
  std::vector<int64_t> tensor_sizes;  // on one rank of the tensor axis
  std::vector<size_t> rows;           // owning rows of the plan, by index; one in a good plan
  std::string unit;                   // path of its innermost unit; "" for the model itself
  int64_t copies = 1;                 // ranks of the tensor axis that hold the same part
  int64_t numel() const;              // of `sizes`
  int64_t tensor_numel() const;       // of `tensor_sizes`
};

/// Dim that a style splits on the tensor axis, or -1. A rowwise bias stays whole.
int split_dim(Style style, const std::string& parameter_name);

/// Vocabularies that a module's rows of dim 0 are made of: a head's groups, else 1.
int64_t vocabulary_groups(const ShardPlan& plan, const std::string& module);

/// Ranks of the tensor axis whose gradients of a parameter are parts of a sum: they hold the same
/// numbers, and each sees only a part of the positions or of the heads. 1: the gradient is
/// complete.
int64_t holders_of_partial_gradient(const PlannedParameter& parameter, const ShardPlan& plan,
                                    const MeshShape& mesh);

/// True when parameters of modules below the matched one belong to the row, too.
bool owns_subtree(Style style);
/// True when the row says what happens to weights (a boundary only changes activations).
bool owns_weight(Style style);

struct PlannedModel {
  std::vector<std::string> modules;  // paths of all blocks, "" included
  std::vector<PlannedParameter> parameters;
};

PlannedModel plan_model(Block& model, const ShardPlan& plan, const MeshShape& mesh);

/// "layers.0..21.norm.weight" for names that differ in one number; others as they are, sorted.
std::vector<std::string> collapse_numbers(const std::vector<std::string>& names);

/// "pipeline=1,data=4,tensor=2" as a mesh; data is another word for shard.
/// Errors: [mesh/axes], [mesh/size].
MeshShape parse_mesh(const std::string& text);

/// Errors: [mesh/size] where the axes together have more ranks than a plan is made for (2^20).
void require_possible_size(const MeshShape& mesh);

}  // namespace s2s
