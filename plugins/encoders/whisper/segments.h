#pragma once
// Where the ids of a window are in time: segments between timestamps, and each id by an alignment
// with the frames. Shape letters: A heads of an alignment, U ids, T frames.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "generation_config.h"

namespace s2s::whisper {

/// A part of a text between two timestamps.
struct Segment {
  double start_s = 0, end_s = 0;
  size_t begin = 0, end = 0;  // its ids, of those of the window
};

/// A window of a clip, in mel frames, two of which are a frame of the encoder.
struct WindowSpan {
  int64_t begin = 0;      // of the clip
  int64_t length = 0;     // that the clip fills
  double frame_s = 0.02;  // length of an encoder's frame, which a timestamp counts
};

/// The segments of a window, and by how many mel frames the clip goes on: to the last timestamp, if
/// a segment begins there, else by the window. Ids after it are written again.
struct WindowSegments {
  std::vector<Segment> segments;
  int64_t advance = 0;
};
/// Source: transformers' WhisperGenerationMixin._retrieve_segment.
WindowSegments window_segments(const std::vector<int64_t>& ids, const GenerationConfig& config,
                               const WindowSpan& span);

/// The time of each of `count` ids of a window, in seconds from its begin, from the weights [A, U,
/// T] of all but the last id. mel_frames: from the window's begin to the clip's end; what comes
/// after it does not count. filter_width: of the median over frames. Source: transformers'
/// WhisperGenerationMixin._extract_token_timestamps.
std::vector<double> id_times(const at::Tensor& weights_AUT, size_t count, int64_t mel_frames,
                             int64_t filter_width, double frame_s);

}  // namespace s2s::whisper
