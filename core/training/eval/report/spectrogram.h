#pragma once
// Log-mel spectrograms of clips, all on one scale, so that they can be compared visually.

#include <cstdint>
#include <string>

#include "s2s/kinds/scorer.h"

namespace s2s {

constexpr double kSpectrogramTop_hz = 8000;

/// Returns the levels of a clip [S]: [64, T] in dB relative to a full-scale sine, low bands first.
/// Column t is at t * 0.02 s; T = floor(S / hop) + 1.
at::Tensor mel_levels_db(const AudioClip& clip);

/// Returns a PNG with 64 rows (high bands on top) and one column per 0.02 s.
std::string spectrogram_png(const AudioClip& clip);

}  // namespace s2s
