#pragma once
// One global order of batches: which of them are this data rank's, and from where it can be read
// again.

#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "loader/bad_cuts.h"
#include "loader/cut_batches.h"

namespace s2s::data {

struct DataAxis {
  int64_t rank = 0;
  int64_t size = 1;
};

/// A state of CutBatches and how many batches of the order are before it.
struct Snapshot {
  int64_t at = 0;
  std::string state;  // "": the first batch
};

struct PlannedBatch {
  BatchOfCuts cuts;
  std::vector<BadCut> bad;  // cuts that the files do not give, met since this rank's last batch
  int64_t round_epoch = 0;  // epoch of the batch that data rank 0 gets at the same time
  int64_t index = 0;        // in the order of all ranks
};

class BatchOrder {
 public:
  /// `from`: where `batches` stands. The first `begin - from.at` batches are passed over: they
  /// were handed out before. `batches` must live on.
  BatchOrder(CutBatches& batches, UnreadCuts& unread, const DataAxis& axis, Snapshot from,
             int64_t begin);

  /// This rank's next batch; nothing at the end of a finite order. One thread calls it.
  std::optional<PlannedBatch> next();

  // Safe while another thread calls `next`.
  /// The newest snapshot of those at `place` or before. It is the same on all ranks when all of
  /// them have been given the batches up to `place`.
  Snapshot snapshot_before(int64_t place) const;
  /// Forgets what no question about `place` or later needs.
  void forget_before(int64_t place);
  /// Number of batches, once the end of a finite order was seen.
  std::optional<int64_t> end() const;
  /// Bad cuts behind the last batch of a finite order.
  std::vector<BadCut> take_rest();

  /// Batches between snapshots: a snapshot may be large, passing over batches takes time.
  static constexpr int64_t kSnapshotEvery = 32;

 private:
  void take_snapshot();
  void keep_bad(bool were_told);

  CutBatches& batches_;
  UnreadCuts& unread_;
  DataAxis axis_;
  int64_t begin_;
  int64_t index_;  // of the batch that CutBatches::next gives
  int64_t round_epoch_ = 0;
  mutable std::mutex mutex_;
  std::deque<Snapshot> snapshots_;  // guarded by mutex_, never empty
  std::optional<int64_t> end_;      // guarded by mutex_
  std::vector<BadCut> bad_;         // guarded by mutex_, for the next batch
};

}  // namespace s2s::data
