#pragma once
// What one rank keeps of a forward pass for its backward pass; core/docs/internals/sharding.md
// derives the formulas, row by row.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/planned_model.h"

namespace s2s {

struct ActivationInputs {
  MeshShape mesh;
  int64_t length = 0;               // positions of a sequence; 0: not known
  int64_t product_bytes = 4;        // of a number that a product takes or makes
  int64_t stream_bytes = 4;         // of a number of the residual stream
  int64_t bytes_per_parameter = 4;  // of the gradient of a head's weight, which the loss makes
  std::function<bool(const std::string& parameter)> is_trained;
};

/// Bytes that grow with a micro-batch of `rows` sequences of `length` positions each.
struct SavedBytes {
  double per_position = 0;
  double per_pair = 0;  // of positions of one sequence
  double per_mask = 0;  // of positions, once for all sequences
  double fixed = 0;
  double at(int64_t rows, int64_t length) const;
  void add(const SavedBytes& other);
};

struct Activations {
  SavedBytes all;            // nothing is recomputed
  SavedBytes recomputed;     // of each block only its input is kept
  SavedBytes largest_block;  // what is there again while a recomputed block runs backward
  int64_t num_blocks = 0;    // units that hold attention
  std::vector<std::string> not_counted;
};

/// `planned`: of the same plan and mesh.
Activations expected_activations(Block& model, const PlannedModel& planned, const ShardPlan& plan,
                                 const ActivationInputs& inputs);

}  // namespace s2s
