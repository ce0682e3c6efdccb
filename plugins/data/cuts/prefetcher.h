#pragma once
// Batches loaded by worker threads, handed out in the order they were asked for.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "s2s/batch.h"

namespace s2s::cuts {

using BatchJob = std::function<Batch()>;

class Prefetcher {
 public:
  explicit Prefetcher(int64_t num_workers);
  /// Waits for the jobs that are being worked on; the others are dropped.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// One thread submits and takes.
  void submit(BatchJob job);
  /// The oldest job's batch; waits for it. Throws what the job threw.
  Batch take();
  int64_t num_pending() const { return static_cast<int64_t>(pending_.size()); }
  /// Forgets everything that was submitted.
  void clear();

 private:
  struct Slot;
  void work();

  std::deque<std::shared_ptr<Slot>> pending_;  // the submitter's
  std::mutex mutex_;
  std::condition_variable has_job_;
  std::condition_variable has_result_;
  std::deque<std::shared_ptr<Slot>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::vector<std::thread> workers_;
};

}  // namespace s2s::cuts
