#pragma once
// A model with its sharding plan applied: every parameter with its row, its unit and its sizes on
// one rank. Works on a meta model.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// One name of a parameter. (A tied tensor has several names.)
struct PlannedParameter {
  std::string module;                 // "layers.3.mlp.up_proj"
  std::string name;                   // "layers.3.mlp.up_proj.weight"
  const at::Tensor* tensor;           // identifies the parameter
  std::vector<int64_t> sizes;         // full sizes
  std::vector<int64_t> tensor_sizes;  // on one rank of the tensor axis
  std::vector<size_t> rows;           // indices of the owning rows of the plan; one in a valid plan
  std::string unit;                   // path of the innermost unit; "" for the model itself
  int64_t copies = 1;                 // ranks of the tensor axis with the same part
  int64_t numel() const;              // of `sizes`
  int64_t tensor_numel() const;       // of `tensor_sizes`
};

/// Returns the dim that a style splits over the tensor axis, or -1. A rowwise bias is not split.
int split_dim(Style style, const std::string& parameter_name);

/// Returns how many parts of equal size form dim 0 of a module: the groups of a head, the stacked
/// parts of a row, otherwise 1.
int64_t stacked_parts(const ShardPlan& plan, const std::string& module);

/// Returns how many tensor ranks hold the same parameter and compute only a partial gradient of it,
/// because each sees only some positions or heads. The partial gradients must be summed. 1: the
/// gradient is complete.
int64_t holders_of_partial_gradient(const PlannedParameter& parameter, const ShardPlan& plan,
                                    const MeshShape& mesh);

/// Returns true when the row also owns the parameters of modules below the matched one.
bool owns_subtree(Style style);
/// Returns true when the row applies to weights. (A boundary row only changes activations.)
bool owns_weight(Style style);

struct PlannedModel {
  std::vector<std::string> modules;  // paths of all blocks, including ""
  std::vector<PlannedParameter> parameters;
};

PlannedModel plan_model(Block& model, const ShardPlan& plan, const MeshShape& mesh);

/// Returns "layers.0..21.norm.weight" for names that differ in one number. Other names are
/// unchanged. Sorted.
std::vector<std::string> collapse_numbers(const std::vector<std::string>& names);

/// Parses "pipeline=1,data=4,tensor=2". `data` is an alias of `shard`.
/// Errors: [mesh/axes], [mesh/size].
MeshShape parse_mesh(const std::string& text);

/// Errors: [mesh/size] when the mesh has more ranks than the supported maximum (2^20).
void require_possible_size(const MeshShape& mesh);

}  // namespace s2s
