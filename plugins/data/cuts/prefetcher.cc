#include "prefetcher.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "s2s/error.h"
#include "s2s/threads.h"

namespace s2s::cuts {

/// A job and, guarded by the prefetcher's mutex, what came of it.
struct Prefetcher::Slot {
  BatchJob job;
  bool done = false;
  Batch batch;
  // Errors cross threads as copies made under the mutex: an exception_ptr's reference count lives
  // in the C++ library, where the thread sanitizer cannot see it.
  std::unique_ptr<Error> error;
  std::unique_ptr<std::string> defect;
};

Prefetcher::Prefetcher(int64_t num_workers) {
  for (int64_t i = 0; i < num_workers; ++i) workers_.emplace_back([this] { work(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  has_job_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Prefetcher::submit(BatchJob job) {
  auto slot = std::make_shared<Slot>();
  slot->job = std::move(job);
  pending_.push_back(slot);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(slot));
  }
  has_job_.notify_one();
}

Batch Prefetcher::take() {
  const std::shared_ptr<Slot> slot = std::move(pending_.front());
  pending_.pop_front();
  std::unique_lock lock(mutex_);
  has_result_.wait(lock, [&] { return slot->done; });
  if (slot->error) throw Error(*slot->error);
  if (slot->defect) throw std::runtime_error(*slot->defect);
  return std::move(slot->batch);
}

void Prefetcher::clear() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
  pending_.clear();
}

void Prefetcher::work() {
  run_operators_on_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_job_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Slot> slot = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Batch batch;
    std::unique_ptr<Error> error;
    std::unique_ptr<std::string> defect;
    try {
      batch = slot->job();
    } catch (const Error& caught) {
      error = std::make_unique<Error>(caught.exit_code(), caught.id(), caught.message());
    } catch (const std::exception& caught) {
      defect = std::make_unique<std::string>(caught.what());
    }
    lock.lock();
    slot->batch = std::move(batch);
    slot->error = std::move(error);
    slot->defect = std::move(defect);
    slot->done = true;
    has_result_.notify_all();
  }
}

}  // namespace s2s::cuts
