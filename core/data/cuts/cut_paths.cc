// Where the files of a manifest's cuts are.

#include <filesystem>
#include <utility>

#include "base/foreign_json.h"
#include "cuts/cut_files.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

std::string resolved(const std::string& path, const std::string& manifest) {
  const fs::path given(path);
  if (given.is_absolute() || path.starts_with("pipe:")) return path;
  const fs::path beside = fs::path(manifest).parent_path() / given;
  std::error_code ignored;
  if (!fs::exists(beside, ignored) && fs::exists(given, ignored)) return path;
  return beside.lexically_normal().string();
}

/// A transform may hold the recording, or cut, of an impulse response.
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
        source["source"] = resolved(source["source"].get<std::string>(), manifest);
      }
    }
    transform.kwargs.text = arguments.dump();
  }
}

void resolve(Recording& recording, const std::string& manifest) {
  for (AudioSource& source : recording.sources) {
    if (source.type == AudioSource::Type::kFile) source.source = resolved(source.source, manifest);
  }
  resolve(recording.transforms, manifest);
}

}  // namespace

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
