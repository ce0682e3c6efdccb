#include "s2s_run/run/recordings.h"

#include <algorithm>
#include <filesystem>

#include "audio/audio_errors.h"
#include "convert/source_files.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> audio_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && convert::is_audio_name(path)) files.push_back(path);
  }
  if (files.empty()) throw audio_errors::no_waves(folder);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<HeardRecording> read_recordings(const std::vector<std::string>& paths, int64_t channel,
                                            int64_t sample_rate_hz) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> found =
        fs::is_directory(path) ? audio_files(path) : std::vector<std::string>{path};
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<HeardRecording> recordings;
  for (const std::string& file : files) {
    recordings.push_back({file, read_wave(file, channel, sample_rate_hz)});
  }
  return recordings;
}

}  // namespace s2s::run
