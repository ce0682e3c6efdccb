#include "run/finite_watch.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "s2s/nn/layers.h"
#include "weights/finite.h"

namespace s2s::run {

std::string fault_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.numel() == 0) return "";
  const at::Tensor values = tensor.detach().to(at::kCPU).contiguous();
  if (all_finite(values)) return "";
  const std::optional<NotFinite> bad = find_not_finite(values);
  if (!bad) return "";
  const std::string value = std::isnan(bad->value) ? "nan" : fmt::format("{}", bad->value);
  return fmt::format("{} at [{}] of [{}]", value, fmt::join(bad->index, ", "),
                     fmt::join(values.sizes(), ", "));
}

FiniteWatch::FiniteWatch(Block& model) : model_(model) {
  model.for_each_block([this](const std::string& path, Block& block) {
    blocks_[&block] = {path, block.hooks()};
    // With hooks, a norm computes its sum separately, which changes the bits of a run.
    if (block.hooks() != nullptr || dynamic_cast<RmsNorm*>(&block) == nullptr)
      block.set_hooks(this);
  });
}

FiniteWatch::~FiniteWatch() {
  model_.for_each_block(
      [this](const std::string&, Block& block) { block.set_hooks(blocks_.at(&block).others); });
}

at::Tensor FiniteWatch::call(Block& block, const at::Tensor& x, const Forward& forward) {
  const Watched& watched = blocks_.at(&block);
  const at::Tensor y =
      watched.others != nullptr ? watched.others->call(block, x, forward) : forward(x);
  if (!first_output_) {
    const std::string fault = fault_of(y);
    if (!fault.empty()) first_output_ = Place{watched.path, fault, fault_of(x).empty()};
  }
  if (y.defined() && y.requires_grad()) {
    y.register_hook([this, path = watched.path](const at::Tensor& gradient) {
      if (first_gradient_) return;
      const std::string fault = fault_of(gradient);
      if (!fault.empty()) first_gradient_ = Place{path, fault, true};
    });
  }
  return y;
}

void FiniteWatch::use(Block& block) {
  if (BlockHooks* const others = blocks_.at(&block).others) others->use(block);
}

/// Without other hooks, an outer block may fuse several such calls, as in a run. Then only the
/// outer block's output is checked.
bool FiniteWatch::only_calls(const Block& block) const {
  const BlockHooks* const others = blocks_.at(&block).others;
  return others == nullptr || others->only_calls(block);
}

const VocabularySplit* FiniteWatch::vocabulary_split(const Block& block) const {
  const BlockHooks* const others = blocks_.at(&block).others;
  return others == nullptr ? nullptr : others->vocabulary_split(block);
}

}  // namespace s2s::run
