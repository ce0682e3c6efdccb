#include "config/config_changes.h"

#include <algorithm>

namespace s2s {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

/// Appends "path", "value" of every scalar below `node`, of empty lists and maps, and of nulls.
void collect(const Config& node, const std::string& path, Values& values) {
  const std::string prefix = path.empty() ? "" : path + ".";
  if (node.is_scalar()) {
    values.emplace_back(path, node.text());
  } else if (node.entries().empty() && node.items().empty()) {
    values.emplace_back(path, node.is_list() ? "[]" : node.is_map() ? "{}" : "null");
  }
  for (const auto& [key, child] : node.entries()) collect(child, prefix + key, values);
  for (size_t i = 0; i < node.items().size(); ++i) {
    collect(node.items()[i], prefix + std::to_string(i), values);
  }
}

const std::string* find(const Values& values, const std::string& path) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return value.first == path; });
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

Values config_values(const Config& config) {
  Values values;
  collect(config, "", values);
  return values;
}

std::vector<std::string> config_changes(const Config& before, const Config& now) {
  const Values old_values = config_values(before), new_values = config_values(now);
  std::vector<std::string> changes;
  for (const auto& [path, value] : new_values) {
    const std::string* const old = find(old_values, path);
    if (old != nullptr && *old == value) continue;
    changes.push_back(path + ": " + (old != nullptr ? *old : "not there") + " before, " + value +
                      " now");
  }
  for (const auto& [path, value] : old_values) {
    if (find(new_values, path) == nullptr) {
      changes.push_back(path + ": " + value + " before, not there now");
    }
  }
  return changes;
}

}  // namespace s2s
