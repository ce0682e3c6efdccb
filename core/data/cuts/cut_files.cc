#include "cuts/cut_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/foreign_json.h"
#include "cuts/cut_json.h"
#include "cuts/cuts_errors.h"
#include "files/line_reader.h"

namespace s2s {
namespace {

/// With more findings than this, the user should fix the program that wrote the manifest, not
/// lines.
constexpr size_t kMaxFindings = 20;

using PlaceById = std::unordered_map<std::string, std::string>;

void remember_id(const Cut& cut, PlaceById& seen) {
  const std::string place = fmt::format("{}:{}", cut.manifest, cut.line);
  const auto [it, is_new] = seen.emplace(cut.id, place);
  if (!is_new) throw cuts_errors::duplicate_id(cut.place(), it->second);
}

void read_manifest(const std::string& path, PlaceById& seen, CutManifest& manifest,
                   Findings& findings) {
  data::Leniencies leniencies;
  data::LineReader reader(path);
  for (std::string line; findings.errors().size() < kMaxFindings && reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      Cut cut = data::parse_cut(line, path, reader.line(), leniencies);
      remember_id(cut, seen);
      resolve_paths(cut);
      manifest.cuts.push_back(std::move(cut));
    } catch (const Error& error) {
      findings.add(error);
    }
  }
  for (std::string& warning : leniencies.warnings(path)) {
    manifest.warnings.push_back(std::move(warning));
  }
}

namespace fs = std::filesystem;

/// A transform may contain the recording, or the cut, of an impulse response.
void resolve(std::vector<AudioTransform>& transforms, const std::string& manifest) {
  for (AudioTransform& transform : transforms) {
    if (transform.name != "ReverbWithImpulseResponse") continue;
    auto arguments = try_parse_foreign_json<nlohmann::ordered_json>(transform.kwargs.text);
    if (!arguments.is_object() || !arguments["rir"].is_object()) continue;
    auto& response = arguments["rir"];
    auto& recording = response.contains("recording") ? response["recording"] : response;
    if (!recording.is_object() || !recording["sources"].is_array()) continue;
    for (auto& source : recording["sources"]) {
      if (source.is_object() && source.value("type", "") == "file" &&
          source["source"].is_string()) {
        source["source"] = resolved_path(source["source"].get<std::string>(), manifest);
      }
    }
    transform.kwargs.text = arguments.dump();
  }
}

void resolve(Recording& recording, const std::string& manifest) {
  for (AudioSource& source : recording.sources) {
    if (source.type == AudioSource::Type::kFile)
      source.source = resolved_path(source.source, manifest);
  }
  resolve(recording.transforms, manifest);
}

}  // namespace

CutManifest read_cuts(const std::vector<std::string>& paths) {
  CutManifest manifest;
  Findings findings;
  PlaceById seen;
  for (const std::string& path : paths) {
    try {
      read_manifest(path, seen, manifest, findings);
    } catch (const Error& error) {
      findings.add(error);
    }
  }
  findings.throw_if_any();
  if (manifest.cuts.empty()) throw cuts_errors::empty(paths);
  return manifest;
}

std::string resolved_path(const std::string& path, const std::string& manifest) {
  const fs::path given(path);
  if (given.is_absolute() || path.starts_with("pipe:")) return path;
  const fs::path beside = fs::path(manifest).parent_path() / given;
  std::error_code ignored;
  if (!fs::exists(beside, ignored) && fs::exists(given, ignored)) return path;
  return beside.lexically_normal().string();
}

void resolve_paths(Cut& cut) {
  for (MixTrack& track : cut.tracks) {
    Cut changed = *track.cut;
    resolve_paths(changed);
    track.cut = std::make_shared<const Cut>(std::move(changed));
  }
  resolve(cut.transforms, cut.manifest);
  if (cut.recording) resolve(*cut.recording, cut.manifest);
  for (auto& [name, value] : cut.custom) {
    if (auto* recording = std::get_if<Recording>(&value)) resolve(*recording, cut.manifest);
  }
}

}  // namespace s2s
