#pragma once
// A batch whose rows are being loaded, in any order and by several threads.
// Shape letters: B rows, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "loader/batch_memory.h"
#include "loader/batch_order.h"
#include "loader/row_loader.h"
#include "s2s/batch.h"

namespace s2s::data {

struct LoadedBatch {
  std::optional<Batch> batch;  // nothing: no row of it is good
  std::vector<BadCut> bad;     // met while planning, then in the order of the rows
  int64_t round_epoch = 0;
};

/// A batch's audio in one role, written row by row where the batch has it.
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

/// What rows are loaded with. All must live on.
struct RowSources {
  const CutBatches& batches;
  const RowLoader& loader;
  BatchMemory& memory;
};

class LoadingBatch {
 public:
  LoadingBatch(PlannedBatch planned, const RowSources& sources);

  size_t num_rows() const { return rows_.size(); }
  /// Loads a row; its audio goes where the batch will have it, so that no more than the row that
  /// is being loaded is ever held twice. Different rows at the same time are safe.
  void load(size_t row);
  /// Once all rows are loaded. `leave_out`: without its bad rows; else a bad cut makes it bad.
  LoadedBatch finish(bool leave_out);

 private:
  void place(size_t row, LoadedRow& loaded);
  Batch collated(std::vector<LoadedRow> rows, bool is_in_place) const;
  LoadedBatch finish_contents(LoadedBatch loaded, bool leave_out) const;

  PlannedBatch plan_;
  RowSources sources_;
  std::vector<LoadResult> rows_;
  std::once_flag has_audio_;
  std::optional<AudioRows> source_audio_, target_audio_;
  std::vector<char> is_in_place_;  // not bool: written by several threads
};

}  // namespace s2s::data
