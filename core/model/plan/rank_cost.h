#pragma once
// What a rank holds of a planned model, in bytes; core/docs/internals/sharding.md derives the
// formulas.

#include <cstdint>
#include <functional>
#include <string>

#include "plan/layout_rules.h"
#include "plan/planned_model.h"

namespace s2s {

/// Largest share of one rank. On its device, but for what `host` has.
struct RankCost {
  int64_t parameters = 0;  // elements held
  int64_t trained = 0;     // of which trained
  int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  int64_t copy_bytes = 0;        // autocast's rounded weights, from forward to backward
  int64_t block_copy_bytes = 0;  // of which of blocks that full recomputation would compute again
  int64_t gathered_bytes = 0;    // at most, while the largest unit is at work
  int64_t host_bytes = 0;        // parameters, gradients and optimizer state in the host's memory
  /// Of the device.
  int64_t total() const {
    return parameter_bytes + gradient_bytes + optimizer_bytes + copy_bytes + gathered_bytes;
  }
};

struct RankCostInputs {
  EngineSettings settings;
  ElementBytes bytes;
  int64_t micro_batches = 1;
  int64_t optimizer_numbers = 2;  // per trained parameter
  std::function<bool(const std::string& parameter)> is_trained;
};

/// `planned`: of the plan and the settings' mesh.
RankCost rank_cost(const PlannedModel& planned, const ShardPlan& plan,
                   const RankCostInputs& inputs);

}  // namespace s2s
