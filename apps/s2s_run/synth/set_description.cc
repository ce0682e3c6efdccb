#include "s2s_run/synth/set_description.h"

#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "s2s/foreign_text.h"
#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// synth.json of a folder; empty if it is missing or was not written by this program.
std::optional<Json> description_of(const fs::path& folder) {
  try {
    Json json = try_parse_foreign_json<Json>(read_small_file(folder / "synth.json"));
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
  const std::optional<Json> described = description_of(folder);
  if (!described) throw folder_in_use(folder.string());
  const Json& there = *described;
  if (there["settings"] != settings) {
    throw other_set_there(folder.string(), there["settings"].dump(), settings.dump());
  }
  summary.reused = true;
  summary.cuts = there["cuts"].get<std::map<std::string, size_t>>();
  summary.hours = there["hours"].get<double>();
  return true;
}

void write_description(const fs::path& folder, const Json& settings, const SetSummary& summary) {
  const Json described = {{"made_by", "s2s-run data synth"},
                          {"settings", settings},
                          {"cuts", summary.cuts},
                          {"hours", summary.hours}};
  write_file_atomically((folder / "synth.json").string(), described.dump(2) + "\n");
}

}  // namespace s2s::synth
