#include "s2s_run/synth/set_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "files/source_state.h"
#include "s2s/foreign_text.h"
#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kName = "synth.json";

/// synth.json of a folder; empty if it is missing or was not written by this program.
std::optional<Json> description_of(const fs::path& folder) {
  try {
    Json json = try_parse_foreign_json<Json>(read_small_file(folder / kName));
    const bool is_whole = json.is_object() && json.contains("settings") && json.contains("hours") &&
                          json["hours"].is_number() && json.contains("cuts") &&
                          json["cuts"].is_object();
    if (!is_whole) return std::nullopt;
    for (const auto& [split, count] : json["cuts"].items()) {
      if (!count.is_number_unsigned()) return std::nullopt;
    }
    return json;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

std::vector<fs::path> all_below(const fs::path& path) {
  std::vector<fs::path> all = {path};
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(path, failed)) {
    all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Of a file, or of all files of a folder with their names.
std::string content_of(const fs::path& path) {
  files::SourceState state;
  for (const fs::path& file : all_below(path)) {
    if (!fs::is_regular_file(file)) continue;
    state.add(file.lexically_relative(path).string());
    state.add(files::content_hash_of_file(file.string()));
  }
  return fmt::format("{:016x}", state.value());
}

/// The last change of a file, or of anything in a folder; folders change with the names in them.
int64_t last_change_ns(const fs::path& path) {
  int64_t last_ns = 0;
  for (const fs::path& file : all_below(path)) {
    struct stat status {};
    if (stat(file.c_str(), &status) == 0) last_ns = std::max(last_ns, files::changed_ns(status));
  }
  return last_ns;
}

/// The names of changed files. Sets of older versions do not record their contents.
std::vector<std::string> changed_in(const fs::path& folder, const Json& description) {
  std::vector<std::string> changed;
  const auto contents = description.find("contents");
  if (contents == description.end() || !contents->is_object()) return changed;
  const int64_t made_ns = last_change_ns(folder / kName);
  for (const auto& [name, content] : contents->items()) {
    const fs::path path = folder / fs::path(name).filename();
    const bool is_there = fs::exists(path);
    if (is_there && last_change_ns(path) <= made_ns) continue;
    if (!is_there || content != content_of(path)) changed.push_back(name);
  }
  return changed;
}

}  // namespace

const char* size_name(Size size) {
  switch (size) {
    case Size::kTiny:
      return "tiny";
    case Size::kQuick:
      return "quick";
    case Size::kFull:
      break;
  }
  return "full";
}

bool find_existing(const fs::path& folder, const Json& settings, SetSummary& summary) {
  if (!fs::exists(folder)) return false;
  if (fs::is_directory(folder) && fs::is_empty(folder)) return false;
  const std::optional<Json> description = description_of(folder);
  if (!description) throw folder_in_use(folder.string());
  const Json& there = *description;
  if (there["settings"] != settings) {
    throw other_set_there(folder.string(), there["settings"].dump(), settings.dump());
  }
  summary.reused = true;
  summary.cuts = there["cuts"].get<std::map<std::string, size_t>>();
  summary.hours = there["hours"].get<double>();
  summary.changed = changed_in(folder, there);
  return true;
}

void write_description(const fs::path& folder, const Json& settings, const SetSummary& summary) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::directory_iterator(folder)) {
    contents[entry.path().filename().string()] = content_of(entry.path());
  }
  const Json description = {{"made_by", "s2s-run data synth"},
                            {"settings", settings},
                            {"cuts", summary.cuts},
                            {"hours", summary.hours},
                            {"contents", contents}};
  write_file_atomically((folder / kName).string(), description.dump(2) + "\n");
}

}  // namespace s2s::synth
