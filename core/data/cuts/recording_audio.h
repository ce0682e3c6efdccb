#pragma once
// Loads samples of recordings.
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

/// How many seconds of audio may be missing or extra: half a second, or the value of the
/// environment variable LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE.
double duration_tolerance_s();

/// Opens a file, a command's output, bytes in memory or a member of a tar. Messages begin with
/// `place`.
/// Errors: [data/missing-file], [data/unreadable-audio], [data/source-type].
std::unique_ptr<AudioReader> open_audio(const AudioSource& source, const std::string& place);

/// Names a source in messages: by its path, its command, ...
std::string source_name(const AudioSource& source);

/// A part of a recording's channels. No channels means all of them.
struct RecordingPart {
  Stretch stretch = {};
  std::vector<int64_t> channels = {};
};

/// Returns as many samples as the duration has at the recording's rate, after its transforms.
/// Channels are in the order of the sources. Audio that is longer or shorter than its manifest
/// says, within duration_tolerance_s, is cut or extended by reflection. Opus files with another
/// rate than the manifest's are resampled.
/// Errors: those of open_audio, [data/sample-rate], [data/channel], [data/cut-too-long],
/// [data/duration-mismatch], [data/transforms].
/// Source: lhotse Recording.load_audio.
at::Tensor load_recording(const Recording& recording, const RecordingPart& part,
                          const std::string& place, ResamplerBank& resamplers);

/// Returns [R, N] of a recording or cut that a transform contains: only the given channels, and at
/// most the given length.
/// Errors: as load_recording, and [data/field].
at::Tensor load_impulse_response(const nlohmann::json& manifest,
                                 const std::vector<int64_t>& channels,
                                 std::optional<double> duration_s, const std::string& place,
                                 ResamplerBank& resamplers);

/// [C, S'] -> [C, count]: cuts the audio or extends it by reflection at its end.
/// Source: numpy pad, "reflect".
at::Tensor fit_length(const at::Tensor& audio_CS, int64_t count);

}  // namespace s2s::data
