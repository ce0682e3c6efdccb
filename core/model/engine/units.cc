#include "engine/units.h"

#include <algorithm>

namespace s2s {
namespace {

bool is_inside(const std::string& path, const std::string& unit) {
  return path == unit || path.starts_with(unit + ".");
}

/// The weights of a head are read without calling its hook, so its unit has no usable hook.
bool has_head(const ShardPlan& plan, const std::string& unit, Block& model) {
  bool found = false;
  model.for_each_block([&](const std::string& path, Block&) {
    if (!is_inside(path, unit)) return;
    for (const HeadRow& head : plan.heads) found = found || path_matches(head.module, path);
  });
  return found;
}

}  // namespace

Units::Units(Block& model, const ShardPlan& plan) {
  std::map<std::string, Block*> blocks;
  std::vector<std::string> paths;
  model.for_each_block([&](const std::string& path, Block& block) {
    if (blocks.emplace(path, &block).second) paths.push_back(path);
  });
  for (const UnitRow& row : plan.units) {
    int64_t index = 0;
    for (const std::string& path : paths) {
      if (!path_matches(row.module, path)) continue;
      Block* const module = blocks.at(path);
      const bool is_hooked = module->is_hooked();
      units_.push_back({path, module, is_hooked, row.module.find('*') != std::string::npos, index++,
                        !is_hooked || has_head(plan, path, model)});
    }
  }
  std::set<const at::Tensor*> seen;
  model.for_each_block([&](const std::string& path, Block& block) {
    int64_t innermost = -1;
    for (size_t u = 0; u < units_.size(); ++u) {
      if (!is_inside(path, units_[u].path)) continue;
      if (innermost < 0 ||
          units_[static_cast<size_t>(innermost)].path.size() < units_[u].path.size()) {
        innermost = static_cast<int64_t>(u);
      }
    }
    of_block_.emplace(&block, innermost);
    for (const NamedTensor& parameter : block.named_parameters()) {
      const bool is_own = parameter.name.find('.') == std::string::npos;
      if (is_own && !seen.insert(parameter.tensor).second) shared_.insert(parameter.tensor);
      // The first name counts, as in lists of parameters.
      if (is_own) of_parameter_.emplace(parameter.tensor, innermost);
    }
  });
}

int64_t Units::of_block(const Block& block) const {
  const auto found = of_block_.find(&block);
  return found == of_block_.end() ? -1 : found->second;
}

int64_t Units::of_parameter(const at::Tensor* member) const {
  const auto found = of_parameter_.find(member);
  return found == of_parameter_.end() ? -1 : found->second;
}

}  // namespace s2s
