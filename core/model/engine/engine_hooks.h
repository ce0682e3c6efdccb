#pragma once
// The engine's code at the hooks of blocks: unshards and reshards units, exchanges activations on
// the tensor axis, recomputes activations.

#include <ATen/core/ScalarType.h>

#include <optional>
#include <unordered_map>

#include "engine/gradient_reducer.h"
#include "engine/tensor_split.h"
#include "engine/units.h"
#include "engine/unshard_schedule.h"
#include "s2s/parallel/parallel_engine.h"

namespace s2s {

class EngineHooks : public BlockHooks {
 public:
  struct Inside {
    UnshardSchedule* schedule = nullptr;
    GradientReducer* flow = nullptr;
    TensorSplit* split = nullptr;  // null: no tensor axis
  };
  /// Installs itself at the hooks of all blocks for its lifetime.
  EngineHooks(Block& model, const ShardPlan& plan, const Units& units,
              const EngineSettings& settings, const Inside& inside);
  ~EngineHooks() override;

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;
  void use(Block& block) override;
  bool only_calls(const Block& block) const override;
  const VocabularySplit* vocabulary_split(const Block& block) const override;

 private:
  struct Hook {
    int64_t unit = -1;
    bool is_unit = false;  // the block is the root of a unit
    bool recomputes = false;
    bool trains = false;
  };
  at::Tensor pass(Block& block, const Hook& hook, const at::Tensor& x, const Forward& forward);
  at::Tensor run_unit(Block& block, const Hook& hook, const at::Tensor& x, const Forward& forward);
  at::Tensor call_unit(Block& block, const Hook& hook, at::Tensor x, const Forward& forward);
  static at::Tensor run(Block& block, const Hook& hook, const at::Tensor& x,
                        const Forward& forward);
  void watch_input(at::Tensor& x, int64_t unit);

  Inside inside_;
  std::optional<at::ScalarType> input_type_, output_type_;
  std::vector<Block*> blocks_;
  std::unordered_map<const Block*, Hook> hooks_;
};

}  // namespace s2s
