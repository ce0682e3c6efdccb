#pragma once
// Threads beside LibTorch's own. All threads of this project start here, so that one that cannot be
// started, or that throws, ends in one message and not in std::terminate.

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace s2s {

/// From now on, LibTorch's operators that this thread calls run on this thread alone. For worker
/// threads: otherwise each would start a team of threads as large as the machine.
void run_operators_on_this_thread();

/// Starts one thread. `body` must not throw.
/// Errors: [run/threads] when the system has no more threads for this process.
std::thread start_thread(std::function<void()> body);

/// Threads with a common end. What one of them throws, of whatever type, reaches `join`.
class ThreadTeam {
 public:
  /// stop: makes the bodies return soon; called when a thread throws, when one cannot be started,
  /// and by a destructor that finds threads; from any thread, maybe more than once.
  explicit ThreadTeam(std::function<void()> stop = {});
  /// Stops and waits for those that run.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Starts one more thread. Errors: [run/threads]; those that run are stopped and joined before.
  void start(std::function<void()> body);
  /// Waits for all, then throws what the first one threw, if one did.
  void join();

 private:
  void stop() const;
  void join_all();
  void keep_exception();

  std::function<void()> stop_;
  std::mutex mutex_;
  std::exception_ptr first_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

/// Runs `body` on `num_threads` threads (at least one) and waits for all. stop: as in ThreadTeam.
/// Errors: what the first body threw; [run/threads].
void run_threads(int64_t num_threads, const std::function<void()>& body,
                 const std::function<void()>& stop = {});

}  // namespace s2s
