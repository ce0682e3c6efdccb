#include "conversations/prompt_source.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/foreign_json.h"
#include "files/line_reader.h"

namespace s2s::data {
namespace {

Config entry(const char* type, const char* key, const std::string& path) {
  Config item = Config::map();
  item["type"] = Config::scalar(type);
  item[key] = Config::scalar(path, /*quoted=*/true);
  return item;
}

/// NeMo's turns have a type (text or audio); ShareGPT's turns have none.
Config conversations_of(const nlohmann::json& turns, const std::string& path) {
  const bool has_types = turns.is_array() && !turns.empty() && turns.front().contains("type");
  return entry(has_types ? "multimodal_conversation" : "share_gpt", "manifest_filepath", path);
}

}  // namespace

std::optional<Config> input_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    const std::filesystem::directory_iterator files(path);
    const bool is_shar = std::any_of(begin(files), end(files), [](const auto& file) {
      return file.path().filename().string().starts_with("cuts.");
    });
    return is_shar ? std::optional(entry("lhotse_shar", "shar_path", path)) : std::nullopt;
  }
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return entry("group", "input_cfg", path);
  LineReader reader(path);
  std::string line;
  do {
    if (!reader.next(line)) return std::nullopt;
  } while (line.empty());
  const auto object = try_parse_foreign_json<nlohmann::json>(line);
  if (!object.is_object()) return std::nullopt;
  if (const auto turns = object.find("conversations"); turns != object.end()) {
    return conversations_of(*turns, path);
  }
  if (object.contains("audio_filepath")) return entry("nemo", "manifest_filepath", path);
  for (const char* key : {"supervisions", "recording", "tracks"}) {
    if (object.contains(key)) return entry("lhotse", "cuts_path", path);
  }
  return std::nullopt;
}

}  // namespace s2s::data
