#pragma once
// What the engine does at the doors of blocks: makes units whole and frees them, cuts activations
// on the tensor axis, computes again.

#include <ATen/core/ScalarType.h>

#include <optional>
#include <unordered_map>

#include "engine/gather_schedule.h"
#include "engine/gradient_flow.h"
#include "engine/units.h"
#include "parallel/tensor_split.h"
#include "s2s/parallel_engine.h"

namespace s2s {

class Doors : public BlockHooks {
 public:
  struct Inside {
    GatherSchedule* schedule = nullptr;
    GradientFlow* flow = nullptr;
    TensorSplit* split = nullptr;  // null: no tensor axis
  };
  /// Puts itself at every block's door, until it ends.
  Doors(Block& model, const ShardPlan& plan, const Units& units, const EngineSettings& settings,
        const Inside& inside);
  ~Doors() override;

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;
  void use(Block& block) override;
  const VocabularySplit* vocabulary_split(const Block& block) const override;

 private:
  struct Door {
    int64_t unit = -1;
    bool is_unit = false;  // the unit's own
    bool recomputes = false;
    bool trains = false;
  };
  at::Tensor pass(Block& block, const Door& door, const at::Tensor& x, const Forward& forward);
  at::Tensor run_unit(Block& block, const Door& door, const at::Tensor& x, const Forward& forward);
  at::Tensor call_unit(Block& block, const Door& door, at::Tensor x, const Forward& forward);
  static at::Tensor run(Block& block, const Door& door, const at::Tensor& x,
                        const Forward& forward);
  void watch_input(at::Tensor& x, int64_t unit);

  Inside inside_;
  std::optional<at::ScalarType> input_type_, output_type_;
  std::vector<Block*> blocks_;
  std::unordered_map<const Block*, Door> doors_;
};

}  // namespace s2s
