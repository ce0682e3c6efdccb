#pragma once
// Ranges of a profiler for the forward of each module.

#include <map>
#include <string>

#include "s2s/nn/block.h"

namespace s2s::run {

/// While it lives, each call of a block is a range with the block's path. Calls go on to the hooks
/// that the block has. The forward computes the same as without ranges.
class ModuleRanges : public BlockHooks {
 public:
  explicit ModuleRanges(Block& model);
  ~ModuleRanges() override;
  ModuleRanges(const ModuleRanges&) = delete;
  ModuleRanges& operator=(const ModuleRanges&) = delete;

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;
  void use(Block& block) override;
  bool only_calls(const Block& block) const override;
  const VocabularySplit* vocabulary_split(const Block& block) const override;

 private:
  struct Ranged {
    std::string path;
    BlockHooks* hooks;  // may be null
  };
  std::map<const Block*, Ranged> blocks_;
};

}  // namespace s2s::run
