#include "config/config_json.h"

#include <cmath>

#include "config/scalar.h"

namespace s2s {

namespace {

using Json = nlohmann::ordered_json;

Json scalar_json(const Config& node) {
  if (node.quoted()) return node.text();
  if (const auto value = parse_bool(node.text())) return *value;
  if (const auto value = parse_int(node.text())) return *value;
  const auto value = parse_float(node.text());
  if (value && std::isfinite(*value)) return *value;
  return node.text();
}

void add_origins(const Config& node, const std::string& path, Json& json) {
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, child] : node.entries()) add_origins(child, prefix + key, json);
  for (size_t i = 0; i < node.items().size(); ++i) {
    add_origins(node.items()[i], prefix + std::to_string(i), json);
  }
  if (node.entries().empty() && node.items().empty()) json[path] = node.origin().text();
}

}  // namespace

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
  add_origins(config, "", json);
  return json;
}

}  // namespace s2s
