#pragma once
// Threads in addition to LibTorch's own. All threads of this project are started here, so that a
// thread that cannot be started, or that throws, causes one error message and not std::terminate.

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace s2s {

/// From now on, LibTorch's operators that are called on this thread are single-threaded. Call it in
/// worker threads; otherwise each would start as many threads as the machine has cores.
void run_operators_on_this_thread();

/// Starts one thread. `body` must not throw.
/// Errors: [run/threads] when the system has no more threads for this process.
std::thread start_thread(std::function<void()> body);

/// A group of threads that end together. `join` rethrows any exception of a thread.
class ThreadTeam {
 public:
  /// stop: must make the bodies return soon. Called when a thread throws, when a thread cannot be
  /// started, and by the destructor if threads are still running. May be called from any thread and
  /// more than once.
  explicit ThreadTeam(std::function<void()> stop = {});
  /// Stops all threads and waits for them.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Starts a thread. Errors: [run/threads]; running threads are stopped and joined first.
  void start(std::function<void()> body);
  /// Waits for all threads, then rethrows the first exception, if there was one.
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
/// Errors: the first exception of a body; [run/threads].
void run_threads(int64_t num_threads, const std::function<void()>& body,
                 const std::function<void()>& stop = {});

}  // namespace s2s
