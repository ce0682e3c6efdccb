#include "flight/progress_board.h"

#include <csignal>

#include "base/threads.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

/// Up to this world size, every round reads the reports of all ranks.
constexpr int64_t kSmallRun = 64;
/// How long a process waits at its end for its last report to be published.
constexpr std::chrono::milliseconds kLastRound{1000};

std::string key_of(int64_t rank) { return "progress/" + std::to_string(rank); }

}  // namespace

struct ProgressBoard::Shared {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0;
  int64_t size = 1;
  std::chrono::milliseconds beat{1000};

  std::mutex mutex;
  std::condition_variable changed;
  std::string text;
  bool is_urgent = false, reads_all = false, ends = false, is_gone = false;
  bool has_ended = false;  // the thread is about to return
  int64_t num_begun = 0, num_complete = 0;
  std::map<int64_t, Heard> heard;

  int64_t num_said = 0;                 // used by the thread only
  std::map<int64_t, std::string> seen;  // used by the thread only
};

ProgressBoard::ProgressBoard(c10d::Store& store, int64_t rank, int64_t size,
                             std::chrono::milliseconds beat)
    : shared_(std::make_shared<Shared>()) {
  shared_->store = store.clone();  // a separate connection
  shared_->rank = rank;
  shared_->size = size;
  shared_->beat = beat;
  thread_ = start_thread([shared = shared_] { run(shared); });
}

ProgressBoard::~ProgressBoard() {
  wait_for_round(kLastRound);
  bool has_ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->ends = true;
    shared_->changed.notify_all();
    has_ended = shared_->changed.wait_for(lock, kLastRound, [this] { return shared_->has_ended; });
  }
  if (has_ended) {
    thread_.join();
  } else {  // the thread waits for a store that does not answer
    leave_behind(std::move(thread_));
  }
}

void ProgressBoard::say(std::string text, bool now) {
  const std::lock_guard lock(shared_->mutex);
  shared_->text = std::move(text);
  if (!now) return;
  shared_->is_urgent = true;
  shared_->changed.notify_all();
}

void ProgressBoard::watch_all() {
  const std::lock_guard lock(shared_->mutex);
  shared_->reads_all = shared_->is_urgent = true;
  shared_->changed.notify_all();
}

std::map<int64_t, ProgressBoard::Heard> ProgressBoard::heard() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->heard;
}

bool ProgressBoard::wait_for_round(std::chrono::milliseconds limit) {
  std::unique_lock lock(shared_->mutex);
  const int64_t awaited = shared_->num_begun + 1;
  shared_->is_urgent = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, limit,
                            [&] { return shared_->num_complete >= awaited || shared_->is_gone; });
  return shared_->num_complete >= awaited;
}

void ProgressBoard::make_round(Shared& shared, const std::string& text, bool reads_all) {
  // A counter before the text: a repeated text also shows that the rank is alive.
  if (!text.empty()) {
    shared.store->set(key_of(shared.rank), std::to_string(shared.num_said++) + "\n" + text);
  }
  const int64_t num_read = reads_all || shared.size <= kSmallRun ? shared.size : 1;
  for (int64_t rank = 0; rank < num_read; ++rank) {
    if (rank == shared.rank) continue;
    std::string& seen = shared.seen[rank];
    if (seen.empty() && !shared.store->check({key_of(rank)})) continue;
    std::string said = shared.store->get_to_str(key_of(rank));
    if (said == seen) continue;
    seen = std::move(said);
    const std::lock_guard lock(shared.mutex);
    shared.heard[rank] = {seen.substr(seen.find('\n') + 1), Clock::now()};
  }
}

void ProgressBoard::run(const std::shared_ptr<Shared>& shared) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // other threads handle the signals of the process
  std::unique_lock lock(shared->mutex);
  while (!shared->ends) {
    ++shared->num_begun;
    shared->is_urgent = false;
    try {
      const std::string text = shared->text;
      const bool reads_all = shared->reads_all;
      lock.unlock();
      make_round(*shared, text, reads_all);
    } catch (const std::exception&) {  // the store is gone, or no memory is left
      if (!lock.owns_lock()) lock.lock();
      shared->is_gone = shared->has_ended = true;
      shared->changed.notify_all();
      return;
    }
    lock.lock();
    ++shared->num_complete;
    shared->changed.notify_all();
    shared->changed.wait_for(lock, shared->beat, [&] { return shared->ends || shared->is_urgent; });
  }
  shared->has_ended = true;
  shared->changed.notify_all();
}

}  // namespace s2s
