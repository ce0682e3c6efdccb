#pragma once
// Computes what one rank keeps of a forward pass for its backward pass.
// core/docs/internals/sharding.md derives the formulas row by row.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/planned_model.h"

namespace s2s {

struct ActivationInputs {
  MeshShape mesh;
  int64_t length = 0;         // positions per sequence; 0: unknown
  int64_t product_bytes = 4;  // bytes per element of the inputs and outputs of matrix products
  int64_t stream_bytes = 4;   // bytes per element of the residual stream
  // Bytes per element of the gradient of a head's weight, which the loss computes.
  int64_t bytes_per_parameter = 4;
  std::function<bool(const std::string& parameter)> is_trained;
};

/// Bytes that depend on a micro-batch of `rows` sequences with `length` positions each.
struct SavedBytes {
  double per_position = 0;
  double per_pair = 0;  // per pair of positions in one sequence
  double per_mask = 0;  // per pair of positions, once for all sequences
  double fixed = 0;
  double at(int64_t rows, int64_t length) const;
  void add(const SavedBytes& other);
};

struct Activations {
  SavedBytes all;            // without recomputation
  SavedBytes recomputed;     // only the input of each block is kept
  SavedBytes largest_block;  // recomputed values that exist while a block runs backward
  int64_t num_blocks = 0;    // number of units that contain attention
  std::vector<std::string> not_counted;
};

/// `planned` must belong to the same plan and mesh.
Activations expected_activations(Block& model, const PlannedModel& planned, const ShardPlan& plan,
                                 const ActivationInputs& inputs);

}  // namespace s2s
