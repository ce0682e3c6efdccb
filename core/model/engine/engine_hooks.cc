#include "engine/engine_hooks.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "engine/recompute.h"

namespace s2s {
namespace {

/// Detects norms and MLPs by the rows of the plan: norms are `sequence` rows, and MLPs are
/// boundaries that are not attention.
bool is_norm_or_mlp(const ShardPlan& plan, const std::string& path) {
  const bool is_attention =
      std::any_of(plan.attentions.begin(), plan.attentions.end(),
                  [&](const AttentionRow& row) { return path_matches(row.module, path); });
  return !is_attention &&
         std::any_of(plan.rows.begin(), plan.rows.end(), [&](const TensorRow& row) {
           const bool is_mlp = row.style == Style::kBoundary && row.in == Layout::kSeq;
           return (is_mlp || row.style == Style::kSequence) && path_matches(row.module, path);
         });
}

bool recomputes(const RecomputeSettings& settings, const ShardPlan& plan, const Unit* unit,
                const std::string& path, const Block& block) {
  if (!block.is_hooked()) return false;
  switch (settings.what) {
    case RecomputeSettings::What::kNone:
      return false;
    case RecomputeSettings::What::kBlocks:
      return unit != nullptr && unit->path == path && unit->is_repeated &&
             unit->index % settings.every == 0;
    case RecomputeSettings::What::kNormsAndMlps:
      return is_norm_or_mlp(plan, path);
  }
  return false;
}

bool takes_gradients(const at::Tensor& x) {
  return at::GradMode::is_enabled() && x.requires_grad();
}

}  // namespace

EngineHooks::EngineHooks(Block& model, const ShardPlan& plan, const Units& units,
                         const EngineSettings& settings, const Inside& inside)
    : inside_(inside), input_type_(settings.param_dtype), output_type_(settings.output_dtype) {
  model.for_each_block([&](const std::string& path, Block& block) {
    Hook hook;
    hook.unit = units.of_block(block);
    const Unit* const unit = hook.unit < 0 ? nullptr : &units.all()[static_cast<size_t>(hook.unit)];
    hook.is_unit = unit != nullptr && unit->module == &block;
    hook.recomputes = recomputes(settings.recompute, plan, unit, path, block);
    for (const NamedTensor& parameter : block.named_parameters()) {
      hook.trains = hook.trains || parameter.tensor->requires_grad();
    }
    block.set_hooks(this);
    blocks_.push_back(&block);
    hooks_.emplace(&block, hook);
  });
}

EngineHooks::~EngineHooks() {
  for (Block* block : blocks_) block->set_hooks(nullptr);
}

void EngineHooks::use(Block& block) { inside_.schedule->pre_forward(hooks_.at(&block).unit); }

bool EngineHooks::only_calls(const Block& block) const {
  const Hook& hook = hooks_.at(&block);
  return !hook.is_unit && !hook.recomputes &&
         (inside_.split == nullptr || inside_.split->leaves_alone(block));
}

const VocabularySplit* EngineHooks::vocabulary_split(const Block& block) const {
  return inside_.split != nullptr ? inside_.split->vocabulary_split(block) : nullptr;
}

at::Tensor EngineHooks::call(Block& block, const at::Tensor& x, const Forward& forward) {
  const Hook& hook = hooks_.at(&block);
  inside_.schedule->pre_forward(hook.unit);
  if (inside_.split == nullptr) return pass(block, hook, x, forward);
  TensorSplit* const split = inside_.split;
  const int64_t length = split->length();
  return pass(block, hook, x, [split, length, &block, forward](const at::Tensor& given) {
    const TensorSplit::LengthScope scope(*split, length);
    return split->after(block, forward(split->before(block, given)));
  });
}

at::Tensor EngineHooks::pass(Block& block, const Hook& hook, const at::Tensor& x,
                             const Forward& forward) {
  return hook.is_unit ? call_unit(block, hook, x, forward) : run(block, hook, x, forward);
}

at::Tensor EngineHooks::run(Block& block, const Hook& hook, const at::Tensor& x,
                            const Forward& forward) {
  const bool again = hook.recomputes && x.is_floating_point() && (hook.trains || x.requires_grad());
  return again ? recomputed(block, x, forward) : forward(x);
}

at::Tensor EngineHooks::run_unit(Block& block, const Hook& hook, const at::Tensor& x,
                                 const Forward& forward) {
  if (!inside_.schedule->frees(hook.unit)) return run(block, hook, x, forward);
  const WithoutAutocastCopies without_copies;
  return run(block, hook, x, forward);
}

at::Tensor EngineHooks::call_unit(Block& block, const Hook& hook, at::Tensor x,
                                  const Forward& forward) {
  if (input_type_ && x.is_floating_point()) x = x.to(*input_type_);
  watch_input(x, hook.unit);
  at::Tensor y = run_unit(block, hook, x, forward);
  if (output_type_ && y.is_floating_point()) y = y.to(*output_type_);
  const bool for_backward = takes_gradients(y);
  if (for_backward) {
    const bool counts = !inside_.schedule->is_backward();
    if (counts) inside_.flow->called(hook.unit);
    y.register_hook([this, counts, unit = hook.unit](const at::Tensor&) -> void {
      inside_.schedule->pre_backward(unit);
      if (counts) inside_.flow->begun(unit);
    });
  }
  inside_.schedule->post_forward(hook.unit, for_backward);
  return y;
}

/// The unit's backward is over when x has received its complete gradient.
void EngineHooks::watch_input(at::Tensor& x, int64_t unit) {
  if (!takes_gradients(x) || inside_.schedule->is_backward()) return;
  x = x.view_as(x);  // a separate tensor for this unit
  inside_.flow->entered(unit);
  x.register_hook([this, unit](const at::Tensor&) -> void {
    inside_.flow->left(unit);
    inside_.schedule->post_backward(unit);
  });
}

}  // namespace s2s
