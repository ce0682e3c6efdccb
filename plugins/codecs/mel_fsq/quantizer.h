#pragma once
// Converts frames of log-mel to tokens and back: a 2-D cosine transform, then one scalar quantizer
// for each of the elements with the largest variance. Shape letters: B batch, T frames, K
// codebooks, F elements of a frame (columns x mels), D elements that are kept (K x levels).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "s2s/nn/audio.h"

namespace s2s::mel_fsq {

/// Statistics of audio. Plain tensors, so that a codec can store them as buffers.
struct Statistics {
  at::Tensor mean_F, std_F;  // float32, of the transformed elements
  at::Tensor order_F;        // int64: elements by descending variance
};

/// Accumulates the statistics. Frames of silence count for at most a fifth of all frames, because
/// the long pauses of a dialogue would reduce the range for speech.
class StatisticsFit {
 public:
  explicit StatisticsFit(int64_t num_elements);
  /// Adds frames: coefficients [N, F], silent [N] bool.
  void add(const at::Tensor& coefficients_NF, const at::Tensor& silent_N);
  bool has_speech() const { return speech_count_ > 0; }
  Statistics finish() const;

 private:
  at::Tensor speech_sum_F_, speech_square_F_, silence_F_;  // float64
  int64_t speech_count_ = 0;
  int64_t silent_count_ = 0;
};

class Quantizer {
 public:
  Quantizer(int64_t num_columns, int64_t num_mels, int64_t num_groups, std::vector<int64_t> levels,
            double clip);
  int64_t codebook_size() const { return levels_.codebook_size(); }
  int64_t num_kept() const { return num_groups_ * num_levels(); }

  /// Orthonormal 2-D DCT-II of each frame. log_mel [..., F] (F = columns x mels)
  at::Tensor transform(const at::Tensor& log_mel_F) const;
  /// [B, T, F] -> [B, K, T] int64. A value x becomes level round((x' + 1) / 2 (L - 1)) with x' = (x
  /// - mean) / (clip std), clamped to [-1, 1].
  at::Tensor encode(const at::Tensor& log_mel_BTF, const Statistics& statistics) const;
  /// [B, K, T] -> log_mel [B, T, F]; elements that are not kept get their mean.
  at::Tensor decode(const at::Tensor& codes_BKT, const Statistics& statistics) const;

 private:
  struct Tables {
    at::Tensor basis_FF;       // rows: elements after the transform
    at::Tensor num_levels_KL;  // float32, [K, levels]
  };
  /// The tables on a device. A copy is made once: each one from the host would wait for the device.
  Tables on(const at::Device& device) const;
  int64_t num_levels() const { return static_cast<int64_t>(levels_.counts().size()); }

  int64_t num_groups_;
  ScalarLevels levels_;
  double clip_;
  Tables on_host_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Tables> on_devices_;  // by the device's name
};

}  // namespace s2s::mel_fsq
