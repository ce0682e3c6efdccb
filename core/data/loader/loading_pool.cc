#include "loader/loading_pool.h"

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "s2s/error.h"
#include "s2s/threads.h"

namespace s2s::data {

/// An error of a thread, stored as values. The reference count of an exception is in the C++
/// library, where the thread sanitizer cannot see it.
struct LoadingPool::Failure {
  std::optional<BadCut> error;
  bool is_memory = false;
  std::string defect;

  [[noreturn]] void raise() const {
    if (error) throw error->error();
    if (is_memory) throw std::bad_alloc();
    throw std::runtime_error(defect);
  }
  /// Returns null if `action` succeeds.
  static std::unique_ptr<Failure> of(const std::function<void()>& action) {
    auto failure = std::make_unique<Failure>();  // allocated first, in case memory runs out
    try {
      action();
      return nullptr;
    } catch (const Error& caught) {
      failure->error = BadCut{"", caught.exit_code(), caught.id(), caught.message()};
    } catch (const std::bad_alloc&) {
      failure->is_memory = true;
    } catch (const std::exception& caught) {
      failure->defect = caught.what();
    } catch (...) {
      failure->defect = "an exception of no known type";
    }
    return failure;
  }
};

/// A batch that is being loaded. Each row is loaded by one worker; the worker of the last row makes
/// the batch.
struct LoadingPool::Slot {
  Slot(PlannedBatch planned, const RowSources& sources)
      : loading(std::in_place, std::move(planned), sources), remaining(loading->num_rows()) {}

  std::optional<LoadingBatch> loading;  // set until the batch is done
  // Guarded by the pool's mutex.
  size_t remaining;
  bool done = false;
  LoadedBatch result;
  std::unique_ptr<Failure> failure;
};

LoadingPool::LoadingPool(BatchOrder& order, const CutBatches& batches, const RowLoader& loader,
                         const PoolOptions& options)
    : order_(order), batches_(batches), loader_(loader), options_(options), threads_([this] {
        stop();
      }) {
  if (options.num_workers == 0) return;
  threads_.start([this] { plan(); });
  for (int64_t i = 0; i < options.num_workers; ++i) threads_.start([this] { work(); });
}

LoadingPool::~LoadingPool() = default;

/// Also called when a thread of the team has thrown, because `take` must not wait for its work.
void LoadingPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  has_room_.notify_all();
  has_job_.notify_all();
  has_batch_.notify_all();
}

LoadedBatch LoadingPool::finish(LoadingBatch& loading) const {
  LoadedBatch loaded = loading.finish(options_.leave_out);
  if (loaded.batch && options_.pin_memory) loaded.batch = loaded.batch->pin_memory();
  return loaded;
}

std::optional<LoadedBatch> LoadingPool::load_here() {
  std::optional<PlannedBatch> planned = order_.next();
  if (!planned) {
    memory_.keep_nothing();
    return std::nullopt;
  }
  LoadingBatch loading(std::move(*planned), sources());
  for (size_t i = 0; i < loading.num_rows(); ++i) loading.load(i);
  return finish(loading);
}

std::optional<LoadedBatch> LoadingPool::take() {
  if (options_.num_workers == 0) return load_here();
  std::unique_lock lock(mutex_);
  has_batch_.wait(lock, [&] {
    return stopping_ || (slots_.empty() ? has_ended_ || plan_failure_ : slots_.front()->done);
  });
  if (stopping_) {
    lock.unlock();
    threads_.join();  // throws the error of a thread
    throw std::runtime_error("the threads that load data have ended");
  }
  if (slots_.empty()) {
    if (plan_failure_) plan_failure_->raise();
    memory_.keep_nothing();  // a validation set is not used for a long time
    return std::nullopt;
  }
  const std::shared_ptr<Slot> slot = std::move(slots_.front());
  slots_.pop_front();
  has_room_.notify_one();
  if (slot->failure) slot->failure->raise();
  return std::move(slot->result);
}

void LoadingPool::plan() {
  run_operators_on_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_room_.wait(lock, [&] {
      return stopping_ || static_cast<int64_t>(slots_.size()) < options_.max_batches;
    });
    if (stopping_) return;
    lock.unlock();
    std::shared_ptr<Slot> slot;
    std::unique_ptr<Failure> failure = Failure::of([&] {
      std::optional<PlannedBatch> planned = order_.next();
      if (planned) slot = std::make_shared<Slot>(std::move(*planned), sources());
    });
    lock.lock();
    if (!slot) {
      has_ended_ = !failure;
      plan_failure_ = std::move(failure);
      has_batch_.notify_all();
      return;
    }
    slots_.push_back(slot);
    for (size_t i = 0; i < slot->loading->num_rows(); ++i) jobs_.emplace_back(slot, i);
    has_job_.notify_all();
  }
}

void LoadingPool::load_one(const Job& job, std::unique_lock<std::mutex>& lock) {
  Slot& slot = *job.first;
  lock.unlock();
  std::unique_ptr<Failure> failure = Failure::of([&] { slot.loading->load(job.second); });
  lock.lock();
  if (failure && !slot.failure) slot.failure = std::move(failure);
  if (--slot.remaining > 0) return;
  const bool failed = slot.failure != nullptr;
  lock.unlock();
  LoadedBatch batch;
  if (!failed) failure = Failure::of([&] { batch = finish(*slot.loading); });
  slot.loading.reset();
  lock.lock();
  slot.result = std::move(batch);
  if (!failed) slot.failure = std::move(failure);
  slot.done = true;
  has_batch_.notify_all();
}

void LoadingPool::work() {
  run_operators_on_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_job_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    load_one(job, lock);
  }
}

}  // namespace s2s::data
