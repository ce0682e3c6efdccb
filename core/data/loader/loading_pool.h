#pragma once
// Plans and loads batches ahead of their use. Threads share rows, not batches, so one long cut
// delays no other row.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "loader/batch_memory.h"
#include "loader/batch_order.h"
#include "loader/loading_batch.h"
#include "loader/row_loader.h"
#include "s2s/threads.h"

namespace s2s::data {

struct PoolOptions {
  int64_t num_workers = 1;  // 0: no threads, `take` does the work
  int64_t max_batches = 4;  // planned and not yet taken
  bool leave_out = false;   // leaves out bad rows; false: a bad cut makes the batch bad
  bool pin_memory = false;
};

class LoadingPool {
 public:
  /// All arguments must outlive the pool. Loading begins at once. Errors: [run/threads].
  LoadingPool(BatchOrder& order, const CutBatches& batches, const RowLoader& loader,
              const PoolOptions& options);
  /// Waits for the rows that are being loaded and drops the rest.
  ~LoadingPool();
  LoadingPool(const LoadingPool&) = delete;
  LoadingPool& operator=(const LoadingPool&) = delete;

  /// Returns the next batch of the order, even if a later batch was done first; nothing at the end.
  /// Throws the errors of planning and loading.
  std::optional<LoadedBatch> take();

 private:
  struct Slot;
  struct Failure;
  using Job = std::pair<std::shared_ptr<Slot>, size_t>;

  RowSources sources() { return {batches_, loader_, memory_}; }
  LoadedBatch finish(LoadingBatch& loading) const;
  std::optional<LoadedBatch> load_here();
  void stop();
  void plan();
  void work();
  void load_one(const Job& job, std::unique_lock<std::mutex>& lock);

  BatchOrder& order_;
  const CutBatches& batches_;
  const RowLoader& loader_;
  PoolOptions options_;
  BatchMemory memory_;

  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_job_;
  std::condition_variable has_batch_;
  // All members below are guarded by mutex_.
  std::deque<std::shared_ptr<Slot>> slots_;
  std::deque<Job> jobs_;
  bool has_ended_ = false;
  bool stopping_ = false;
  std::unique_ptr<Failure> plan_failure_;
  ThreadTeam threads_;  // destroyed first, because the threads use all members above
};

}  // namespace s2s::data
