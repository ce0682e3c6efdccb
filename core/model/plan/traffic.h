#pragma once
// What a plan costs in messages between ranks; core/docs/internals/sharding.md derives the
// formulas.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/layout_rules.h"
#include "plan/planned_model.h"

namespace s2s {

struct TrafficInputs {
  EngineSettings settings;       // mesh and layout
  int64_t micro_batches = 1;     // of an optimizer step
  int64_t positions = 0;         // of a micro-batch on one data rank; 0: not known
  int64_t padded_positions = 0;  // where sequences are split over the tensor axis; 0: as positions
  ElementBytes bytes;
  std::function<bool(const std::string& parameter)> is_trained;
};

/// Bytes that a rank sends by kind of message.
struct CollectiveBytes {
  double all_gather = 0, reduce_scatter = 0, all_reduce = 0;
  double total() const { return all_gather + reduce_scatter + all_reduce; }
};

/// Bytes that one rank sends in an optimizer step, with ring algorithms; it receives as many.
struct Traffic {
  int64_t shard_gather = 0;                   // parameters, all-gather
  int64_t shard_reduce = 0;                   // gradients, reduce-scatter
  int64_t replicate_reduce = 0;               // gradients, all-reduce
  int64_t tensor_gradients = 0;               // of weights that several tensor ranks hold
  CollectiveBytes tensor_per_position;        // activations, for one position of one micro-batch
  CollectiveBytes tensor_step;                // of the step, where positions are known
  std::optional<int64_t> tensor_activations;  // its sum; nothing when positions are not known
  std::vector<std::string> not_counted;       // what this leaves out, and why
  /// All of it; nothing when a part is not known.
  std::optional<int64_t> total() const;
};

/// `planned`: of the same plan and mesh. A mesh of one rank sends nothing.
Traffic expected_traffic(const PlannedModel& planned, const ShardPlan& plan,
                         const TrafficInputs& inputs);

/// Elements of a parameter on one rank of the shard axis, which splits dim 0 and rounds up.
int64_t sharded_numel(const PlannedParameter& parameter, int64_t shard);

}  // namespace s2s
