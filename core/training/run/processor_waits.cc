#include "run/processor_waits.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <set>

namespace s2s::run {
namespace {

std::set<pid_t> training_threads() {
  std::set<pid_t> ids = {gettid()};
  std::mutex mutex;
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    ids.insert(gettid());
  });
  return ids;
}

double waited_s(const std::string& schedstat) {
  std::ifstream file(schedstat);
  double ran_ns = 0, waited_ns = 0;
  return file >> ran_ns >> waited_ns ? waited_ns / 1e9 : 0;
}

}  // namespace

ProcessorWaits::ProcessorWaits() {
  for (const pid_t id : training_threads()) {
    const std::string file = fmt::format("/proc/self/task/{}/schedstat", id);
    threads_.push_back({file, waited_s(file)});
  }
}

double ProcessorWaits::since_last_call() {
  double longest_s = 0;
  for (Thread& thread : threads_) {
    const double now_s = waited_s(thread.file);
    longest_s = std::max(longest_s, now_s - thread.waited_s);
    thread.waited_s = now_s;
  }
  return longest_s;
}

}  // namespace s2s::run
