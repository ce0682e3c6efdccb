#pragma once
// A batch whose rows are loaded in any order and by several threads.
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
  std::optional<Batch> batch;  // nothing: no row is good
  std::vector<BadCut> bad;     // from planning, then in the order of the rows
  int64_t round_epoch = 0;
};

/// The audio of a batch for one role. Each row is written to its final position.
class AudioRows {
 public:
  /// `lengths` has the samples of each row and is not empty.
  AudioRows(std::vector<int64_t> lengths, BatchMemory& memory);

  /// Copies a row's samples [S] and fills the rest of the row with zeros. Returns false and does
  /// nothing if the number of samples differs from the expected length. Different rows may be
  /// written at the same time.
  bool put(size_t row, const at::Tensor& samples_S) const;
  /// The row [S]; it shares memory with the batch.
  at::Tensor row(size_t row) const;
  const at::Tensor& audio_BS() const { return audio_BS_; }
  /// int64 [B].
  at::Tensor lengths_B() const;

 private:
  std::vector<int64_t> lengths_;
  at::Tensor audio_BS_;
};

/// What rows are loaded with. All members must outlive the batch.
struct RowSources {
  const CutBatches& batches;
  const RowLoader& loader;
  BatchMemory& memory;
};

class LoadingBatch {
 public:
  LoadingBatch(PlannedBatch planned, const RowSources& sources);

  size_t num_rows() const { return rows_.size(); }
  /// Loads a row and writes its audio to its final position, so that only the row that is being
  /// loaded is in memory twice. Different rows may be loaded at the same time.
  void load(size_t row);
  /// Makes the batch after all rows are loaded. With `leave_out`, bad rows are left out; without
  /// it, a bad cut makes the batch bad.
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
  std::vector<char> is_in_place_;  // not bool, because several threads write it
};

}  // namespace s2s::data
