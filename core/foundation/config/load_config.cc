#include "config/load_config.h"

#include <filesystem>
#include <iostream>
#include <system_error>

#include "config/config_errors.h"
#include "config/secrets.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"
#include "s2s/foreign_text.h"

namespace s2s {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{16} << 20;  // the parser takes about a second for them
constexpr const char* kStandardInput = "standard input";

/// The file of the same folder whose name is nearest, or "".
std::string nearest_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored)) names.push_back(entry.path().filename().string());
  }
  std::string name = nearest_name(path.filename().string(), names);
  if (name.empty()) name = nearest_name(path.filename().string() + ".yaml", names);
  return name.empty() ? "" : (path.parent_path() / name).string();
}

/// All of it, once for the process: a command may ask for its configuration twice.
const std::string& read_standard_input() {
  static const std::string kText = [] {
    std::string text;
    char buffer[4096];
    while (text.size() <= kMaxBytes && std::cin.read(buffer, sizeof buffer).gcount() > 0) {
      text.append(buffer, static_cast<size_t>(std::cin.gcount()));
    }
    return text;
  }();
  if (kText.size() > kMaxBytes) throw unreadable_file_error(kStandardInput, "it is too long");
  return kText;
}

std::string read_file(const std::string& path) {
  std::error_code problem;
  if (!fs::exists(path, problem)) {
    if (problem) throw unreadable_file_error(path, problem.message());
    throw no_file_error(path, nearest_file(path));
  }
  if (fs::is_directory(path, problem)) throw unreadable_file_error(path, "it is a folder");
  try {
    return read_small_file(path, kMaxBytes);
  } catch (const std::system_error& error) {
    throw unreadable_file_error(path, error.code() == std::errc::invalid_argument
                                          ? "it is no regular file"
                                          : error.code().message());
  }
}

}  // namespace

Config load_config(const std::string& path) {
  const bool is_typed = path == "-";
  Config config = is_typed ? parse_yaml(read_standard_input(), kStandardInput)
                           : parse_yaml(read_file(path), path);
  if (!config.is_map() && !config.is_null()) throw type_error("", config, "a map of options");
  if (config.is_null()) config = Config::map();
  return config;
}

Config load_effective_config(const std::string& path, const std::vector<std::string>& overrides) {
  Config config = load_config(path);
  apply_overrides(config, overrides);
  resolve_interpolations(config);
  return config;
}

std::string effective_text(const Config& config) { return write_yaml(stored_config(config)); }

}  // namespace s2s
