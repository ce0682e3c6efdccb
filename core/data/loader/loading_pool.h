#pragma once
// Batches planned and loaded ahead of the one who takes them. Rows, not batches, are shared out
// among the threads, so that one long cut holds nobody else.

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
  int64_t num_workers = 1;  // 0: no thread at all, `take` does the work
  int64_t max_batches = 4;  // that are planned and not yet taken
  bool leave_out = false;   // batches without their bad rows; false: a bad cut makes the batch bad
  bool pin_memory = false;
};

class LoadingPool {
 public:
  /// All must live on. Begins to load at once. Errors: [run/threads].
  LoadingPool(BatchOrder& order, const CutBatches& batches, const RowLoader& loader,
              const PoolOptions& options);
  /// Waits for the rows that are being loaded; the others are dropped.
  ~LoadingPool();
  LoadingPool(const LoadingPool&) = delete;
  LoadingPool& operator=(const LoadingPool&) = delete;

  /// The next batch of the order, whichever thread was done first; nothing at the end. Throws what
  /// planning or loading threw.
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
  // All guarded by mutex_.
  std::deque<std::shared_ptr<Slot>> slots_;
  std::deque<Job> jobs_;
  bool has_ended_ = false;
  bool stopping_ = false;
  std::unique_ptr<Failure> plan_failure_;
  ThreadTeam threads_;  // the first that goes: they use all above
};

}  // namespace s2s::data
