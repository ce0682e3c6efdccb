#pragma once
// The recordings of a user that a command line names.

#include <string>
#include <vector>

#include "audio/wave_file.h"

namespace s2s::run {

struct HeardRecording {
  std::string path;
  Wave wave;
};

/// Reads all of `paths`, files and folders; of a folder its audio files, in the order of their
/// names. Errors: those of read_wave, [data/no-recording] for a folder without audio.
std::vector<HeardRecording> read_recordings(const std::vector<std::string>& paths, int64_t channel,
                                            int64_t sample_rate_hz);

}  // namespace s2s::run
