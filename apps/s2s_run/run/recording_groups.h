#pragma once
// Recognizes many recordings group by group, so that only a part of their audio is in memory.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/scorer.h"

namespace s2s::run {

/// What was recognized in one channel of a recording.
struct ChannelTranscript {
  int64_t channel = 0;
  double duration_s = 0;
  Transcript transcript;
};

struct RecordingTranscript {
  std::string path;
  std::vector<ChannelTranscript> channels;
  std::string problem;  // why it was left out; "": it was read
};

/// A group ends with the recording that reaches one of them.
struct GroupLimits {
  int64_t num_clips = 64;  // four batches of most recognizers, of similar lengths each
  double audio_s = 1800;
};

struct GroupEvents {
  /// Takes the recordings of a group, in the order of the files.
  std::function<void(const std::vector<RecordingTranscript>& recordings)> recognized;
  /// Whether a recording that cannot be read is left out.
  std::function<bool(const Error& error)> leaves_out;
  /// Whether to stop. A group that is not recognized yet is dropped.
  std::function<bool()> stops;
};

/// Recognizes all channels of `files`, which are given to the recognizer at 16 kHz. Returns how
/// many files were passed to `recognized`. Errors: those of read_channels, after the recordings
/// before were recognized.
int64_t recognize_in_groups(std::span<const std::string> files, Scorer& recognizer,
                            const GroupLimits& limits, const GroupEvents& events);

}  // namespace s2s::run
