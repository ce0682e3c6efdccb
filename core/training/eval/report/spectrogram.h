#pragma once
// Log-mel pictures of clips, all on one scale, so that they can be compared by eye.

#include <cstdint>
#include <string>

#include "s2s/kinds/scorer.h"

namespace s2s {

/// The highest frequency in a picture.
constexpr double kSpectrogramTop_hz = 8000;

/// Levels of a clip [S]: [64, T] in dB re a full-scale sine, low bands first. Column t stands
/// at t * 0.02 s; T = floor(S / hop) + 1.
at::Tensor mel_levels_db(const AudioClip& clip);

/// A PNG of 64 rows (high bands on top) and a column for each 0.02 s.
std::string spectrogram_png(const AudioClip& clip);

}  // namespace s2s
