#pragma once
// The global order of batches: which batches belong to this data rank, and from which states they
// can be planned again.

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

/// A state of CutBatches, and the number of batches before it.
struct Snapshot {
  int64_t at = 0;
  std::string state;  // "": at the first batch
};

struct PlannedBatch {
  BatchOfCuts cuts;
  std::vector<BadCut> bad;  // found in the files since this rank's last batch
  int64_t round_epoch = 0;  // epoch of the batch that data rank 0 gets in the same round
  int64_t index = 0;        // in the order of batches of all ranks
};

class BatchOrder {
 public:
  /// `from` is the current position of `batches`. The first `begin - from.at` batches were already
  /// given before a restart and are skipped. `batches` must outlive the order.
  BatchOrder(CutBatches& batches, UnreadCuts& unread, const DataAxis& axis, Snapshot from,
             int64_t begin);

  /// Returns this rank's next batch, or nothing at the end of a finite order. Only one thread calls
  /// it.
  std::optional<PlannedBatch> next();

  // These functions are safe while another thread calls `next`.
  // Returns the newest snapshot at or before `place`. It is the same on all ranks once each of them
  // has been given its batches up to `place`.
  Snapshot snapshot_before(int64_t place) const;
  /// Drops snapshots that are needed only for positions before `place`.
  void forget_before(int64_t place);
  /// Number of batches, once the end of a finite order is known.
  std::optional<int64_t> end() const;
  /// Bad cuts that were found after the last batch of a finite order.
  std::vector<BadCut> take_rest();

  /// Batches between two snapshots. A snapshot may be large, and skipping batches takes time.
  static constexpr int64_t kSnapshotEvery = 32;

 private:
  void take_snapshot();
  void keep_bad(bool were_reported);

  CutBatches& batches_;
  UnreadCuts& unread_;
  DataAxis axis_;
  int64_t begin_;
  int64_t index_;  // of the batch that CutBatches::next gives next
  int64_t round_epoch_ = 0;
  mutable std::mutex mutex_;
  std::deque<Snapshot> snapshots_;  // guarded by mutex_, never empty
  std::optional<int64_t> end_;      // guarded by mutex_
  std::vector<BadCut> bad_;         // guarded by mutex_, for the next batch
};

}  // namespace s2s::data
