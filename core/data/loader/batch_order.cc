#include "loader/batch_order.h"

#include <iterator>
#include <utility>

namespace s2s::data {

BatchOrder::BatchOrder(CutBatches& batches, UnreadCuts& unread, const DataAxis& axis, Snapshot from,
                       int64_t begin)
    : batches_(batches), unread_(unread), axis_(axis), begin_(begin), index_(from.at) {
  snapshots_.push_back(std::move(from));
}

void BatchOrder::take_snapshot() {
  if (index_ % kSnapshotEvery != 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (snapshots_.back().at == index_) return;
  }
  Snapshot snapshot{index_, batches_.state()};
  const std::lock_guard lock(mutex_);
  snapshots_.push_back(std::move(snapshot));
}

std::optional<PlannedBatch> BatchOrder::next() {
  while (!end()) {
    take_snapshot();
    std::optional<BatchOfCuts> cuts = batches_.next();
    keep_bad(cuts && index_ <= begin_ - axis_.size + axis_.rank);
    if (!cuts) {
      const std::lock_guard lock(mutex_);
      end_ = index_;
      break;
    }
    const int64_t place = index_++ - begin_;
    if (place < 0) continue;
    if (place % axis_.size == 0) round_epoch_ = cuts->epoch;
    if (place % axis_.size == axis_.rank) {
      return PlannedBatch{std::move(*cuts), take_rest(), round_epoch_, index_ - 1};
    }
  }
  return std::nullopt;
}

/// Keeps the bad cuts for this rank's next batch, unless they were already reported with an earlier
/// one.
void BatchOrder::keep_bad(bool were_reported) {
  std::vector<BadCut> more = unread_.take();
  if (were_reported) return;
  const std::lock_guard lock(mutex_);
  std::move(more.begin(), more.end(), std::back_inserter(bad_));
}

std::vector<BadCut> BatchOrder::take_rest() {
  const std::lock_guard lock(mutex_);
  return std::exchange(bad_, {});
}

Snapshot BatchOrder::snapshot_before(int64_t place) const {
  const std::lock_guard lock(mutex_);
  const Snapshot* found = &snapshots_.front();
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.at <= place) found = &snapshot;
  }
  return *found;
}

void BatchOrder::forget_before(int64_t place) {
  const std::lock_guard lock(mutex_);
  while (snapshots_.size() > 1 && snapshots_[1].at <= place) snapshots_.pop_front();
}

std::optional<int64_t> BatchOrder::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace s2s::data
