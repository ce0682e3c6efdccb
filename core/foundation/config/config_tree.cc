#include "config/config_tree.h"

#include <algorithm>
#include <cmath>

#include "config/scalar.h"

namespace s2s {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<std::pair<std::string, std::string>>;

/// Calls visit(path, node) for every scalar, null, empty list and empty map.
template <class Visit>
void for_each_value(const Config& node, const std::string& path, const Visit& visit) {
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, child] : node.entries()) for_each_value(child, prefix + key, visit);
  for (size_t i = 0; i < node.items().size(); ++i) {
    for_each_value(node.items()[i], prefix + std::to_string(i), visit);
  }
  if (node.entries().empty() && node.items().empty()) visit(path, node);
}

std::string text_of(const Config& value) {
  if (value.is_scalar()) return value.text();
  return value.is_list() ? "[]" : value.is_map() ? "{}" : "null";
}

const std::string* find(const Values& values, const std::string& path) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return value.first == path; });
  return found == values.end() ? nullptr : &found->second;
}

Json scalar_json(const Config& node) {
  if (node.quoted()) return node.text();
  if (const auto value = parse_bool(node.text())) return *value;
  if (const auto value = parse_int(node.text())) return *value;
  const auto value = parse_float(node.text());
  if (value && std::isfinite(*value)) return *value;
  return node.text();
}

}  // namespace

Config& at_path(Config& config, const std::string& path, const Origin& origin_of_new) {
  Config* node = &config;
  size_t start = 0;
  for (size_t dot; (dot = path.find('.', start)) != std::string::npos; start = dot + 1) {
    const std::string key = path.substr(start, dot - start);
    const bool is_new = node->find(key) == nullptr;
    node = &(*node)[key];
    if (is_new) node->set_origin(origin_of_new);
  }
  return (*node)[path.substr(start)];
}

size_t num_bytes(const Config& node) {
  constexpr size_t kNodeBytes = 128;
  size_t bytes = kNodeBytes + node.text().size();
  for (const Config& item : node.items()) bytes += num_bytes(item);
  for (const auto& [key, child] : node.entries()) bytes += key.size() + num_bytes(child);
  return bytes;
}

Values config_values(const Config& config) {
  Values values;
  for_each_value(config, "", [&values](const std::string& path, const Config& value) {
    values.emplace_back(path, text_of(value));
  });
  return values;
}

std::vector<std::string> config_changes(const Config& before, const Config& now) {
  const Values old_values = config_values(before), new_values = config_values(now);
  std::vector<std::string> changes;
  for (const auto& [path, value] : new_values) {
    const std::string* const old = find(old_values, path);
    if (old != nullptr && *old == value) continue;
    changes.push_back(path + ": " + (old != nullptr ? *old : "missing") + " before, " + value +
                      " now");
  }
  for (const auto& [path, value] : old_values) {
    if (find(new_values, path) == nullptr) {
      changes.push_back(path + ": " + value + " before, missing now");
    }
  }
  return changes;
}

Json config_json(const Config& config) {
  Json json;
  switch (config.kind()) {
    case Config::Kind::kNull:
      break;
    case Config::Kind::kScalar:
      return scalar_json(config);
    case Config::Kind::kList:
      json = Json::array();
      for (const Config& item : config.items()) json.push_back(config_json(item));
      break;
    case Config::Kind::kMap:
      json = Json::object();
      for (const auto& [key, child] : config.entries()) json[key] = config_json(child);
      break;
  }
  return json;
}

Json origins_json(const Config& config) {
  Json json = Json::object();
  for_each_value(config, "", [&json](const std::string& path, const Config& value) {
    json[path] = value.origin().text();
  });
  return json;
}

}  // namespace s2s
