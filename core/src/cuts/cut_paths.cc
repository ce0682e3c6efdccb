// Where the files of a manifest's cuts are.

#include <filesystem>
#include <utility>

#include "s2s/cut_files.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

std::string resolved(const std::string& path, const std::string& manifest) {
  const fs::path given(path);
  if (given.is_absolute()) return path;
  const fs::path beside = fs::path(manifest).parent_path() / given;
  std::error_code ignored;
  if (!fs::exists(beside, ignored) && fs::exists(given, ignored)) return path;
  return beside.lexically_normal().string();
}

void resolve(Recording& recording, const std::string& manifest) {
  for (AudioSource& source : recording.sources) {
    if (source.type == AudioSource::Type::kFile) source.source = resolved(source.source, manifest);
  }
}

}  // namespace

void resolve_paths(Cut& cut) {
  for (MixTrack& track : cut.tracks) {
    Cut changed = *track.cut;
    resolve_paths(changed);
    track.cut = std::make_shared<const Cut>(std::move(changed));
  }
  if (cut.recording) resolve(*cut.recording, cut.manifest);
  for (auto& [name, value] : cut.custom) {
    if (auto* recording = std::get_if<Recording>(&value)) resolve(*recording, cut.manifest);
  }
}

}  // namespace s2s
