#pragma once
// The memory that a rank needs for a planned model, in bytes. core/docs/internals/sharding.md
// derives the formulas.

#include <cstdint>
#include <functional>
#include <string>

#include "plan/layout_rules.h"
#include "plan/planned_model.h"

namespace s2s {

/// The largest memory of any rank. On its device, except for `host_bytes`.
struct RankCost {
  int64_t parameters = 0;  // elements stored on the rank
  int64_t trained = 0;     // trained elements among them
  int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  int64_t copy_bytes = 0;  // autocast's rounded weights, kept from forward to backward
  // Part of copy_bytes in blocks that full recomputation would compute again.
  int64_t block_copy_bytes = 0;
  int64_t gathered_bytes = 0;  // maximum while the largest unit is in use, or gradients are summed
  int64_t buffer_bytes = 0;    // whole on every rank: a frozen codec, statistics, tables
  int64_t host_bytes = 0;      // parameters, gradients and optimizer state in host memory
  /// Total on the device.
  int64_t total() const {
    return parameter_bytes + gradient_bytes + optimizer_bytes + copy_bytes + gathered_bytes +
           buffer_bytes;
  }
};

struct RankCostInputs {
  EngineSettings settings;
  ElementBytes bytes;
  int64_t micro_batches = 1;
  int64_t optimizer_numbers = 2;  // optimizer values per trained parameter
  std::function<bool(const std::string& parameter)> is_trained;
};

/// `planned` must belong to the plan and to the mesh of the settings.
RankCost rank_cost(const PlannedModel& planned, const ShardPlan& plan,
                   const RankCostInputs& inputs);

}  // namespace s2s
