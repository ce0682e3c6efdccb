#pragma once
// Samples of recordings.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/audio_reader.h"
#include "audio/resampler_bank.h"
#include "cuts/audio_transforms.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// How many seconds of audio may be missing or too much: half a second, or what the environment
/// says in LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE.
double duration_tolerance_s();

/// Opens a file, a command's output, bytes in memory or a member of a tar. `place` begins messages.
/// Errors: [data/missing-file], [data/unreadable-audio], [data/source-type].
std::unique_ptr<AudioReader> open_audio(const AudioSource& source, const std::string& place);

/// What is said about a source: its path, its command, ...
std::string source_name(const AudioSource& source);

/// A part of a recording's channels; all of them when there are none.
struct RecordingPart {
  Stretch stretch = {};
  std::vector<int64_t> channels = {};
};

/// As many samples as the duration has at the recording's rate, after its transforms. Channels come
/// in the order of the sources. Audio that differs from its manifest within duration_tolerance_s is
/// cut, or continued by reflection; opus files of another rate than the manifest's are resampled.
/// Errors: those of open_audio, [data/sample-rate], [data/channel], [data/cut-too-long],
/// [data/duration-mismatch], [data/transforms].
/// Source: lhotse Recording.load_audio.
at::Tensor load_recording(const Recording& recording, const RecordingPart& part,
                          const std::string& place, ResamplerBank& resamplers);

/// [R, N] of a recording or cut that is written inside a transform: these channels, at most so
/// long. Errors: as load_recording, and [data/field].
at::Tensor load_impulse_response(const nlohmann::json& manifest,
                                 const std::vector<int64_t>& channels,
                                 std::optional<double> duration_s, const std::string& place,
                                 ResamplerBank& resamplers);

/// [C, S'] -> [C, count]: cut, or continued by reflection at the end.   Source: numpy pad,
/// "reflect".
at::Tensor fit_length(const at::Tensor& audio_CS, int64_t count);

}  // namespace s2s::data
