#include "profile/processor_waits.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <sstream>

#include "base/moment.h"
#include "base/parallel_rows.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

std::set<pid_t> training_threads() {
  std::set<pid_t> ids = {gettid()};
  std::mutex mutex;
  parallel_rows(at::get_num_threads(), 1, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    ids.insert(gettid());
  });
  return ids;
}

double waited_s(const std::string& schedstat) {
  if (!std::filesystem::exists(schedstat)) return 0;
  std::istringstream numbers(read_small_file(schedstat, /*max_bytes=*/4096));
  double ran_ns = 0, waited_ns = 0;
  return numbers >> ran_ns >> waited_ns ? waited_ns / 1e9 : 0;
}

}  // namespace

ProcessorWaits::ProcessorWaits() : asked_s_(now_s()) {
  for (const pid_t id : training_threads()) {
    const std::string file = fmt::format("/proc/self/task/{}/schedstat", id);
    threads_.push_back({file, waited_s(file)});
  }
}

double ProcessorWaits::share() {
  const double passed_s = now_s() - asked_s_;
  if (passed_s < 1) return share_;
  double longest_s = 0;
  for (Thread& thread : threads_) {
    const double waited_now_s = waited_s(thread.file);
    longest_s = std::max(longest_s, waited_now_s - thread.waited_s);
    thread.waited_s = waited_now_s;
  }
  asked_s_ += passed_s;
  share_ = longest_s / passed_s;
  return share_;
}

}  // namespace s2s::run
