#include "weights/json_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/foreign_json.h"
#include "config/load_config.h"
#include "s2s/nn/weights.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// Configurations are not nested more deeply. Deeper files are damaged.
constexpr int kMaxDepth = 64;

Config to_config(const nlohmann::ordered_json& node, const std::string& source, int depth = 0) {
  if (depth > kMaxDepth) {
    throw weights_errors::json(source, fmt::format("it is nested deeper than {}", kMaxDepth));
  }
  Config config;
  if (node.is_object()) {
    config = Config::map();
    for (const auto& [key, value] : node.items()) config[key] = to_config(value, source, depth + 1);
  } else if (node.is_array()) {
    config = Config::list();
    for (const auto& value : node) config.items().push_back(to_config(value, source, depth + 1));
  } else if (node.is_string()) {
    config = Config::scalar(node.get<std::string>(), true);
  } else if (!node.is_null()) {
    config = Config::scalar(node.dump());
  }
  config.set_origin({source, 0, 0});
  return config;
}

std::string read_text(const std::string& path, size_t max_bytes) {
  try {
    return read_small_file(path, max_bytes);
  } catch (const std::system_error& error) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    if (error.code() == std::errc::no_such_file_or_directory && !folder.empty() &&
        !std::filesystem::exists(folder, ignored)) {
      throw weights_errors::unreadable(
          folder.string(),
          "there is no such folder, and nothing is downloaded; give a folder on this machine that "
          "contains config.json and weights");
    }
    throw weights_errors::unreadable(path, error.code().message());
  }
}

template <class Json>
Json parse_as(const std::string& text, const std::string& source,
              const JsonLimit& limit = kConfigurationJson) {
  try {
    return parse_foreign_json<Json>(text, limit);
  } catch (const nlohmann::json::exception& error) {
    throw weights_errors::json(source, error.what());
  }
}

}  // namespace

nlohmann::ordered_json parse_json_text(const std::string& text, const std::string& source) {
  return parse_as<nlohmann::ordered_json>(text, source);
}

nlohmann::ordered_json read_json_file(const std::string& path) {
  return parse_json_text(read_text(path, kConfigurationBytes), path);
}

nlohmann::json read_sorted_json_file(const std::string& path) {
  return parse_as<nlohmann::json>(read_text(path, kSmallFileBytes), path, kVocabularyJson);
}

Config parse_json(const std::string& text, const std::string& source) {
  return to_config(parse_json_text(text, source), source);
}

Config read_json(const std::string& path) { return to_config(read_json_file(path), path); }
Config read_yaml(const std::string& path) { return load_config(path); }

}  // namespace s2s
