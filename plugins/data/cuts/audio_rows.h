#pragma once
// A batch's audio in one role, written row by row where the batch has it.
// Shape letters: B rows, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "batch_memory.h"

namespace s2s::cuts {

class AudioRows {
 public:
  /// `lengths`: samples of each row; one at least.
  AudioRows(std::vector<int64_t> lengths, BatchMemory& memory);

  /// Copies a row's samples [S] and writes zeros behind them; false, and nothing is done, when
  /// they are not as many as was said. Different rows at the same time are safe.
  bool put(size_t row, const at::Tensor& samples_S) const;
  /// The row [S], in place.
  at::Tensor row(size_t row) const;
  const at::Tensor& audio_BS() const { return audio_BS_; }
  /// int64 [B].
  at::Tensor lengths_B() const;

 private:
  std::vector<int64_t> lengths_;
  at::Tensor audio_BS_;
};

}  // namespace s2s::cuts
