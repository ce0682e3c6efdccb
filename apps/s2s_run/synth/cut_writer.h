#pragma once
// Writes a dialogue as two audio files and one Lhotse cut.

#include <filesystem>
#include <string>

#include "s2s/data/resample.h"
#include "s2s_run/synth/compose.h"

namespace s2s::synth {

/// Writes FOLDER/audio/SPLIT/ID_{user,agent}.EXT. The cut has paths relative to FOLDER.
class CutWriter {
 public:
  CutWriter(std::filesystem::path folder, const SetOptions& options);
  /// Writes both files. Returns the cut as one JSON line, including the newline.
  /// Errors: [synth/write].
  std::string write(const std::string& split, const std::string& id,
                    const Dialogue& dialogue) const;

 private:
  void write_audio(const std::string& relative_path, const std::vector<float>& samples,
                   int64_t rate_hz) const;

  std::filesystem::path folder_;
  int64_t agent_rate_hz_;
  Resampler resampler_;
  std::string audio_format_;
};

}  // namespace s2s::synth
