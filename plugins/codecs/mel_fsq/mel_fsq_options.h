#pragma once
// Options of the codec, and the sizes derived from them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::mel_fsq {

constexpr int64_t kColumnsPerFrame = 4;  // 20 ms each
constexpr int64_t kColumnsPerSecond = 50;

struct MelFsqOptions {
  std::optional<int64_t> sample_rate;
  int64_t num_groups = 8;
  std::vector<int64_t> levels = {8, 5, 5, 5};
  int64_t num_mels = 64;
  double clip = 2.2;
  int64_t decoder_iterations = 24;

  void visit(OptionVisitor& v) {
    v("sample_rate", sample_rate,
      "sample rate in Hz; null: data.target_sample_rate, or 16000 if that is not set",
      between(8000, 48000));
    v("num_groups", num_groups,
      "number of codebooks, which is the number of tokens per 80 ms frame", between(1, 64));
    v("levels", levels,
      "quantization levels per dimension of a token; their product is the codebook size",
      at_least(2));
    v("num_mels", num_mels, "number of mel bands", between(16, 128));
    v("clip", clip, "range of quantized values in standard deviations", between(0.5, 10));
    v("decoder_iterations", decoder_iterations,
      "iterations of phase reconstruction per frame; more is smoother but slower", between(1, 200));
  }
};

/// Errors: [codec/sample-rate], [codec/too-many-numbers], [codec/level].
void check(const MelFsqOptions& options, const std::string& path);

/// Sizes of frames and columns. Column c is centered on the middle of the samples [c hop, (c + 1)
/// hop).
struct Framing {
  int64_t sample_rate_hz;
  int64_t hop;      // 20 ms
  int64_t n_fft;    // the smallest even product of 2, 3 and 5 of at least 64 ms
  int64_t padding;  // samples that the window of column 0 covers before the audio
  int64_t frame_samples() const { return kColumnsPerFrame * hop; }
  int64_t num_bins() const { return n_fft / 2 + 1; }
};
Framing framing_for(int64_t sample_rate_hz);

}  // namespace s2s::mel_fsq
