#pragma once
// Log-mel pictures of clips, all on one scale, so that they can be compared by eye.

#include <cstdint>
#include <string>

#include "s2s/kinds/scorer.h"

namespace s2s {

struct SpectrogramOptions {
  double column_s = 0.02;
  int64_t num_mels = 64;
  double highest_hz = 8000;
  double quietest_db = -85;  // re a full-scale sine; this and below is the darkest color
  double loudest_db = -20;
  int64_t num_colors = 32;
};

/// Levels of a clip [S]: [num_mels, T] in dB re a full-scale sine, low bands first. Column t stands
/// at t * column_s; T = floor(S / hop) + 1.
at::Tensor mel_levels_db(const AudioClip& clip, const SpectrogramOptions& options = {});

/// A PNG of num_mels rows (high bands on top) and one column per column_s.
std::string spectrogram_png(const AudioClip& clip, const SpectrogramOptions& options = {});

}  // namespace s2s
