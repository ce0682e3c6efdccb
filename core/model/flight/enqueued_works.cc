#include "flight/enqueued_works.h"

#include <csignal>
#include <exception>
#include <set>
#include <utility>

#include "base/threads.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

constexpr std::chrono::milliseconds kAskEvery{100};
constexpr std::chrono::seconds kLastAnswer{1};

}  // namespace

bool EnqueuedWorks::Work::is_over() {
  try {
    return work->is_done();
  } catch (const std::exception&) {
    has_failed = true;
    return true;
  }
}

struct EnqueuedWorks::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  FlightRecord* record = nullptr;  // null once it is gone
  std::list<Work> arrived;
  bool ends = false, has_ended = false;

  std::list<Work> running;  // used by the thread only, in the order of their calls

  /// The collectives of a group end in the order of their calls.
  std::list<Work> take_done() {
    std::list<Work> done;
    std::set<std::string> waiting;
    for (auto next = running.begin(); next != running.end();) {
      const auto work = next++;
      if (waiting.contains(work->record.group)) continue;
      if (work->is_over()) {
        done.splice(done.end(), running, work);
      } else {
        waiting.insert(work->record.group);
      }
    }
    return done;
  }
};

EnqueuedWorks::EnqueuedWorks(FlightRecord& record) : shared_(std::make_shared<Shared>()) {
  shared_->record = &record;
}

EnqueuedWorks::~EnqueuedWorks() {
  if (!thread_.joinable()) return;
  bool has_ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->ends = true;
    shared_->changed.notify_all();
    has_ended = shared_->changed.wait_for(lock, kLastAnswer, [this] { return shared_->has_ended; });
    shared_->record = nullptr;
  }
  if (has_ended) {
    thread_.join();
  } else {
    leave_behind(std::move(thread_));
  }
}

void EnqueuedWorks::add(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work) {
  const std::lock_guard lock(shared_->mutex);
  if (!thread_.joinable()) {
    thread_ = start_thread([shared = shared_] { run(shared); });
  }
  shared_->arrived.push_back({record, std::move(work)});
}

void EnqueuedWorks::run(const std::shared_ptr<Shared>& shared) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // other threads handle the signals of the process
  std::unique_lock lock(shared->mutex);
  bool is_last = false;
  while (!is_last) {
    is_last = shared->changed.wait_for(lock, kAskEvery, [&] { return shared->ends; });
    shared->running.splice(shared->running.end(), shared->arrived);
    lock.unlock();
    std::list<Work> done = shared->take_done();
    lock.lock();
    for (const Work& work : done) {
      if (shared->record != nullptr) shared->record->finish(work.record, work.has_failed);
    }
    lock.unlock();
    done.clear();
    lock.lock();
  }
  shared->has_ended = true;
  shared->changed.notify_all();
}

}  // namespace s2s
