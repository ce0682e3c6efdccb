#pragma once
// The communication volume of a plan. core/docs/internals/sharding.md derives the formulas.

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
  int64_t micro_batches = 1;     // per optimizer step
  int64_t positions = 0;         // per micro-batch on one data rank; 0: unknown
  int64_t padded_positions = 0;  // with sequences split over the tensor axis; 0: as positions
  ElementBytes bytes;
  std::function<bool(const std::string& parameter)> is_trained;
};

/// Bytes that a rank sends, by kind of collective.
struct CollectiveBytes {
  double all_gather = 0, reduce_scatter = 0, all_reduce = 0;
  double total() const { return all_gather + reduce_scatter + all_reduce; }
};

/// Bytes that one rank sends in an optimizer step with ring algorithms. It receives as many.
struct Traffic {
  int64_t shard_gather = 0;             // parameters, all-gather
  int64_t shard_reduce = 0;             // gradients, reduce-scatter
  int64_t replicate_reduce = 0;         // gradients, all-reduce
  int64_t tensor_gradients = 0;         // for weights that several tensor ranks hold
  CollectiveBytes tensor_per_position;  // activations, per position of one micro-batch
  CollectiveBytes tensor_step;          // per step, when positions are known
  // Sum of tensor_step; not set when positions are unknown.
  std::optional<int64_t> tensor_activations;
  std::vector<std::string> not_counted;  // parts that are not counted, with the reason
  /// The sum of all parts. Not set when one of them is unknown.
  std::optional<int64_t> total() const;
};

/// `planned` must belong to the same plan and mesh. With one rank, the traffic is zero.
Traffic expected_traffic(const PlannedModel& planned, const ShardPlan& plan,
                         const TrafficInputs& inputs);

/// Elements of a parameter on one rank of the shard axis, which splits dim 0 and rounds up.
int64_t sharded_numel(const PlannedParameter& parameter, int64_t shard);

}  // namespace s2s
