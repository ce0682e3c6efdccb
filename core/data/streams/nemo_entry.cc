#include "streams/nemo_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/foreign_json.h"
#include "base/regex.h"
#include "base/whole_number.h"
#include "files/pipe_command.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

/// Whether the data set is tarred, in which names are members of tars.
bool is_tarred_name(const std::string& audio, const fs::path& manifest) {
  if (audio.find('/') != std::string::npos) return false;
  if (manifest.filename() == "tarred_audio_manifest.json") return true;
  static const Regex kSharded(R"(manifest_[0-9]+\.json)");
  return manifest.string().find("/sharded_manifests/") != std::string::npos &&
         kSharded.match(manifest.filename().string());
}

}  // namespace

std::string NemoEntry::place() const { return fmt::format("{}:{}", file, line); }

std::string NemoEntry::audio_filepath() const {
  const auto found = json.find("audio_filepath");
  if (found == json.end() || !found->is_string()) {
    throw stream_errors::nemo_line(place(), "audio_filepath is missing or no text",
                                   "an entry {\"audio_filepath\", \"duration\", \"text\", ...}");
  }
  return found->get<std::string>();
}

std::optional<double> NemoEntry::number(const char* key) const {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) {
    throw stream_errors::nemo_line(place(), fmt::format("{} is {}", key, found->dump()),
                                   "a number");
  }
  return found->get<double>();
}

std::optional<std::string> NemoEntry::text(const std::string& key) const {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->is_string() ? found->get<std::string>() : found->dump();
}

bool NemoEntry::is_skipped() const {
  const auto found = json.find("_skipme");
  if (found == json.end() || found->is_null()) return false;
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_number()) return found->get<double>() != 0;
  return !found->empty() && !(found->is_string() && found->get_ref<const std::string&>().empty());
}

NemoEntry parse_nemo_entry(const std::string& text, const std::string& file, int64_t line) {
  NemoEntry entry{{}, file, line};
  try {
    entry.json = parse_foreign_json<nlohmann::ordered_json>(text);
  } catch (const nlohmann::json::exception& error) {
    const std::string_view reason = error.what();  // begins with the parser's name
    const size_t column = std::min(reason.find("column "), reason.size());
    throw stream_errors::nemo_line(entry.place(),
                                   fmt::format("no JSON ({})", reason.substr(column)),
                                   "one JSON object on each line");
  }
  if (!entry.json.is_object()) {
    throw stream_errors::nemo_line(entry.place(), "no JSON object", "one on each line");
  }
  return entry;
}

CustomFields custom_fields(const nlohmann::ordered_json& object,
                           const std::vector<std::string>& left_out) {
  CustomFields fields;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    if (std::find(left_out.begin(), left_out.end(), key) != left_out.end()) continue;
    fields.emplace_back(key, JsonText{value.dump()});
  }
  return fields;
}

std::string centiseconds(double seconds) {
  return fmt::format("{:06d}", to_whole(std::nearbyint(seconds * 1e2)));
}

std::string nemo_audio_path(const std::string& audio, const std::string& manifest) {
  if (files::is_url(audio) || files::pipe_command(audio)) return audio;
  const fs::path path(audio);
  if (path.is_absolute() || audio.size() >= 255 || is_tarred_name(audio, manifest)) return audio;
  std::error_code error;
  const fs::path beside = fs::path(manifest).parent_path() / path;
  if (fs::is_regular_file(beside, error)) return fs::absolute(beside).lexically_normal().string();
  if (const char* home = std::getenv("HOME"); home != nullptr && audio.starts_with("~/")) {
    return home + audio.substr(1);
  }
  return audio;
}

Supervision whole_turn(const Cut& cut, const NemoEntry& entry, const NemoFields& fields) {
  Supervision turn;
  turn.id = cut.id;
  turn.recording_id = cut.recording ? cut.recording->id : cut.id;
  turn.duration_s = cut.duration_s;
  turn.text = entry.text(fields.text);
  turn.language = entry.text(fields.lang);
  return turn;
}

}  // namespace s2s::data
