#include "profile/module_ranges.h"

#include <ATen/record_function.h>

#include "s2s/nn/layers.h"

namespace s2s::run {

ModuleRanges::ModuleRanges(Block& model) {
  model.for_each_block([this](const std::string& path, Block& block) {
    if (!block.is_hooked()) return;
    // With any hook it computes its sum in two passes.
    if (block.hooks() == nullptr && dynamic_cast<const RmsNorm*>(&block) != nullptr) return;
    if (blocks_.emplace(&block, Ranged{path, block.hooks()}).second) block.set_hooks(this);
  });
}

ModuleRanges::~ModuleRanges() {
  for (const auto& [block, ranged] : blocks_) const_cast<Block*>(block)->set_hooks(ranged.hooks);
}

at::Tensor ModuleRanges::call(Block& block, const at::Tensor& x, const Forward& forward) {
  const Ranged& ranged = blocks_.at(&block);
  at::RecordFunction range(at::RecordScope::USER_SCOPE);
  range.before(ranged.path);
  return ranged.hooks == nullptr ? forward(x) : ranged.hooks->call(block, x, forward);
}

void ModuleRanges::use(Block& block) {
  if (BlockHooks* const hooks = blocks_.at(&block).hooks) hooks->use(block);
}

bool ModuleRanges::only_calls(const Block& block) const {
  const BlockHooks* const hooks = blocks_.at(&block).hooks;
  return hooks == nullptr || hooks->only_calls(block);
}

const VocabularySplit* ModuleRanges::vocabulary_split(const Block& block) const {
  const BlockHooks* const hooks = blocks_.at(&block).hooks;
  return hooks == nullptr ? nullptr : hooks->vocabulary_split(block);
}

}  // namespace s2s::run
