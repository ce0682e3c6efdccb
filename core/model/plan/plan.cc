#include "s2s/parallel/plan.h"

#include <algorithm>
#include <array>

#include "base/path_pattern.h"

namespace s2s {

const char* to_string(Style style) {
  constexpr std::array kNames = {"colwise",  "rowwise",  "vocab",     "boundary",
                                 "sequence", "per_head", "replicate", "custom"};
  static_assert(kNames.size() == static_cast<size_t>(Style::kCustom) + 1);
  return kNames.at(static_cast<size_t>(style));
}

const char* to_string(Layout layout) {
  constexpr std::array kNames = {"full", "seq", "last"};
  static_assert(kNames.size() == static_cast<size_t>(Layout::kLast) + 1);
  return kNames.at(static_cast<size_t>(layout));
}

ShardPlan ShardPlan::nested_under(const std::string& prefix,
                                  const std::vector<std::string>& beside) const {
  if (prefix.empty()) return *this;
  const auto below = [&](const std::string& module) {
    if (std::find(beside.begin(), beside.end(), module) != beside.end()) return module;
    return module.empty() ? prefix : prefix + "." + module;
  };
  ShardPlan nested = *this;
  for (TensorRow& row : nested.rows) row.module = below(row.module);
  for (UnitRow& unit : nested.units) unit.module = below(unit.module);
  for (HeadRow& head : nested.heads) head.module = below(head.module);
  for (AttentionRow& attention : nested.attentions) attention.module = below(attention.module);
  return nested;
}

void ShardPlan::append(const ShardPlan& other) {
  rows.insert(rows.end(), other.rows.begin(), other.rows.end());
  units.insert(units.end(), other.units.begin(), other.units.end());
  divisors.insert(divisors.end(), other.divisors.begin(), other.divisors.end());
  heads.insert(heads.end(), other.heads.begin(), other.heads.end());
  attentions.insert(attentions.end(), other.attentions.begin(), other.attentions.end());
}

int64_t ShardPlan::copies(const TensorRow& row, const MeshShape& mesh) const {
  if (row.repeats.empty() || !mesh.replicate_kv_heads) return 1;
  for (const Divisor& divisor : divisors) {
    if (divisor.name != row.repeats || divisor.value == 0) continue;
    if (mesh.tensor > divisor.value && mesh.tensor % divisor.value == 0) {
      return mesh.tensor / divisor.value;
    }
  }
  return 1;
}

bool path_matches(const std::string& pattern, const std::string& path) {
  return match_path(pattern, path).has_value();
}

}  // namespace s2s
