#include "base/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <system_error>
#include <utility>

#include "s2s/threads.h"

namespace s2s {

// LibTorch sizes a thread's OpenMP team once, at the thread's first operator, so the limit must be
// set after that. The function is looked up at run time, because LibTorch has its own OpenMP
// library, which is not the one that the compiler would link.
void run_operators_on_this_thread() {
  at::get_num_threads();
  using SetNumThreads = void (*)(int);
  if (void* found = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) {
    reinterpret_cast<SetNumThreads>(found)(1);
  }
}

std::thread start_thread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw threads_error(error.code().message());
  }
}

ThreadTeam::ThreadTeam(std::function<void()> stop) : stop_(std::move(stop)) {}

ThreadTeam::~ThreadTeam() {
  if (threads_.empty()) return;
  stop();
  join_all();
}

void ThreadTeam::start(std::function<void()> body) {
  try {
    threads_.reserve(threads_.size() + 1);  // before there is a thread to store
    threads_.push_back(start_thread([this, body = std::move(body)] {
      try {
        body();
      } catch (...) {
        keep_exception();
      }
    }));
  } catch (...) {
    stop();
    join_all();
    throw;
  }
}

void ThreadTeam::join() {
  join_all();
  if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

void ThreadTeam::stop() const {
  if (stop_) stop_();
}

void ThreadTeam::join_all() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadTeam::keep_exception() {
  {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::current_exception();
  }
  stop();
}

void run_threads(int64_t num_threads, const std::function<void()>& body,
                 const std::function<void()>& stop) {
  ThreadTeam team(stop);
  for (int64_t i = 0; i < std::max<int64_t>(1, num_threads); ++i) team.start(body);
  team.join();
}

namespace {

std::atomic<bool> g_are_left{false};

}  // namespace

void leave_behind(std::thread thread) {
  thread.detach();
  g_are_left = true;
}

void end_process_if_threads_are_left(int exit_code) {
  if (!g_are_left) return;
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(exit_code);
}

Error threads_error(const std::string& reason) {
  return {ExitCode::kCheckFailed, "run/threads",
          "the system does not allow more threads for this process: " + reason +
              "\n"
              "  raise the limit (`ulimit -u`, pids.max of the container, TasksMax of the unit), "
              "or use fewer threads: lower `num_workers`, `--num-jobs` or OMP_NUM_THREADS"};
}

}  // namespace s2s
