#include "config/load_config.h"

#include <charconv>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "config/config_errors.h"
#include "config/nearest_file.h"
#include "config/scalar.h"
#include "config/secrets.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;  // the parser takes about a second for them
constexpr const char* kStandardInput = "standard input";

/// Reads all of it once per process: a command may load its configuration twice.
const std::string& read_standard_input() {
  static const std::string kText = [] {
    std::string text;
    char buffer[4096];
    while (text.size() <= kMaxBytes && std::cin.read(buffer, sizeof buffer).gcount() > 0) {
      text.append(buffer, static_cast<size_t>(std::cin.gcount()));
    }
    return text;
  }();
  if (kText.size() > kMaxBytes) throw unreadable_file_error(kStandardInput, "it is too large");
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
                                          ? "it is not a regular file"
                                          : error.code().message());
  }
}

struct Override {
  std::string text;  // as typed
  bool remove = false;
  std::vector<std::string> path;
  std::string value;
};

/// Splits "a.b[0].c" into its keys.
std::vector<std::string> split_path(const std::string& path, const std::string& text) {
  std::vector<std::string> steps(1);
  bool in_brackets = false;
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '.' || c == '[') {
      if (in_brackets) throw override_error(text, "'[' is not closed in the key");
      in_brackets = c == '[';
      steps.emplace_back();
    } else if (c == ']') {
      const bool ends = i + 1 == path.size() || path[i + 1] == '.' || path[i + 1] == '[';
      if (!ends || !in_brackets) throw override_error(text, "misplaced ']' in the key");
      in_brackets = false;
      if (i + 1 < path.size() && path[i + 1] == '.') ++i, steps.emplace_back();
    } else {
      steps.back() += c;
    }
  }
  if (in_brackets) throw override_error(text, "'[' is not closed in the key");
  for (const std::string& step : steps) {
    if (step.empty()) throw override_error(text, "the key is empty or has an empty part");
  }
  return steps;
}

Override parse_override(const std::string& text) {
  Override parsed;
  parsed.text = text;
  const size_t equals = text.find('=');
  std::string key = text.substr(0, equals);
  parsed.remove = key.starts_with("~");
  if (parsed.remove) {
    key.erase(0, 1);
  } else if (equals == std::string::npos) {
    const size_t colon = text.find(':');
    const std::string meant =
        colon == std::string::npos ? text : text.substr(0, colon) + "=" + text.substr(colon + 1);
    throw override_error(text, "expected key=value without blanks, +key=value or ~key; write " +
                                   meant + (colon == std::string::npos ? "=VALUE" : ""));
  } else {
    key.erase(0, key.starts_with("++") ? 2 : key.starts_with("+") ? 1 : 0);
    parsed.value = text.substr(equals + 1);
  }
  parsed.path = split_path(key, text);
  return parsed;
}

std::string join_path(const std::vector<std::string>& steps, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ".") + steps[i];
  return out;
}

[[noreturn]] void throw_no_child(const Override& word, size_t depth, const Config& parent) {
  std::vector<std::string> known;
  for (const auto& [key, child] : parent.entries()) known.push_back(key);
  const std::string nearest = nearest_name(word.path[depth], known);
  const std::string where =
      depth == 0 ? "the config" : config_place(join_path(word.path, depth), parent);
  throw override_error(word.text, "no '" + word.path[depth] + "' in " + where +
                                      (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

size_t list_index(const Override& word, size_t depth, const Config& list, bool may_append) {
  const auto index = parse_int(word.path[depth]);
  const auto size = static_cast<int64_t>(list.items().size());
  if (!index || *index < 0 || *index > size || (*index == size && !may_append)) {
    throw override_error(word.text, config_place(join_path(word.path, depth), list) +
                                        " is a list of " + std::to_string(size) +
                                        ", which has no element '" + word.path[depth] + "'");
  }
  return static_cast<size_t>(*index);
}

/// The child with the key of the path at `depth`. Creates it if it is missing.
Config& step_into(Config& node, const Override& word, size_t depth, const Origin& origin) {
  if (node.is_scalar()) {
    throw override_error(word.text, config_place(join_path(word.path, depth), node) + " is " +
                                        config_value(node) + ", which cannot hold '" +
                                        word.path[depth] + "'");
  }
  if (node.is_null() && word.path[depth] == "0") {  // the first item of a missing list
    const Origin made_at = node.origin();
    node = Config::list();
    node.set_origin(made_at);
  }
  if (node.is_list()) {
    const size_t index = list_index(word, depth, node, true);
    if (index == node.items().size()) {
      node.items().emplace_back();
      node.items().back().set_origin(origin);
    }
    return node.items()[index];
  }
  if (Config* child = node.find(word.path[depth])) return *child;
  Config& child = node[word.path[depth]];
  child.set_origin(origin);
  return child;
}

void assign(Config& target, Config value) {
  if (!target.is_map() || !value.is_map()) {
    target = std::move(value);
    return;
  }
  for (auto& [key, child] : value.entries()) assign(target[key], std::move(child));
}

Config parse_value(const Override& word, const Origin& origin) {
  try {
    Config value =
        word.value.empty() ? Config::scalar("", true) : parse_yaml_value(word.value, origin);
    value.set_origin(origin);
    return value;
  } catch (const Error& error) {
    const std::string prefix = origin.text() + ": ";
    const std::string& reason = error.message();
    throw override_error(word.text,
                         "the value is not YAML: " +
                             (reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason));
  }
}

/// Shortens the word, because each finding about a value repeats its origin.
std::string beginning_of(const std::string& word) {
  size_t shown = 100;
  if (word.size() <= shown) return word;
  while ((static_cast<unsigned char>(word[shown]) & 0xc0) == 0x80) --shown;  // within a character
  return word.substr(0, shown) + "...";
}

void set_value(Config& config, const Override& word) {
  Origin origin;
  origin.source = "command line: " + beginning_of(shown_word(word.text));
  Config value = parse_value(word, origin);
  Config* node = &config;
  for (size_t depth = 0; depth < word.path.size(); ++depth) {
    node = &step_into(*node, word, depth, origin);
  }
  assign(*node, std::move(value));
}

void remove_value(Config& config, const Override& word) {
  Config* node = &config;
  const size_t last = word.path.size() - 1;
  for (size_t depth = 0; depth < last; ++depth) {
    Config* child = node->is_list() ? &node->items()[list_index(word, depth, *node, false)]
                                    : node->find(word.path[depth]);
    if (child == nullptr) throw_no_child(word, depth, *node);
    node = child;
  }
  if (node->is_list()) {
    const size_t index = list_index(word, last, *node, false);
    node->items().erase(node->items().begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
  if (node->find(word.path[last]) == nullptr) throw_no_child(word, last, *node);
  node->erase(word.path[last]);
}

}  // namespace

std::string nearest_file(const std::string& file) {
  const fs::path path = file;
  const std::string stem = path.stem().string();
  const std::string extension = path.has_extension() ? path.extension().string() : ".yaml";
  std::vector<std::string> stems;  // of files with the same extension
  std::string other;               // the same name with another extension
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file(ignored)) continue;
    const fs::path& found = entry.path();
    if (found.extension() == extension) stems.push_back(found.stem().string());
    const bool is_better = other.empty() || found.extension() == ".yaml";
    if (found.stem() == stem && is_better) other = found.filename().string();
  }
  const std::string nearest = nearest_name(stem, stems);
  const std::string name = nearest.empty() ? other : nearest + extension;
  return name.empty() ? "" : (path.parent_path() / name).string();
}

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

void apply_overrides(Config& config, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) {
    const Override word = parse_override(text);
    if (word.remove) {
      remove_value(config, word);
    } else {
      set_value(config, word);
    }
  }
}

}  // namespace s2s
