#include "device/backend/host_waits.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace s2s::test_device {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, int64_t, std::less<>> waits;
  int64_t all_waits = 0;
  std::atomic<int64_t> operators = 0;
};

Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

void write_report() {
  const char* const path = std::getenv("S2S_TEST_DEVICE_REPORT");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  const std::lock_guard lock(counts().mutex);
  std::fprintf(file, "{\"host_waits\": %lld, \"operators\": %lld, \"by_place\": {",
               static_cast<long long>(counts().all_waits),
               static_cast<long long>(counts().operators.load()));
  const char* separator = "";
  for (const auto& [name, count] : counts().waits) {
    std::fprintf(file, "%s\"%s\": %lld", separator, name.c_str(), static_cast<long long>(count));
    separator = ", ";
  }
  std::fputs("}}\n", file);
  std::fclose(file);
}

}  // namespace

void count_wait(std::string_view what) {
  const std::lock_guard lock(counts().mutex);
  ++counts().waits[std::string(what)];
  ++counts().all_waits;
}

void count_operator() { ++counts().operators; }

void report_at_exit() {
  counts();
  std::atexit(write_report);
}

}  // namespace s2s::test_device

int64_t s2s_test_device_host_waits() {
  auto& counts = s2s::test_device::counts();
  const std::lock_guard lock(counts.mutex);
  return counts.all_waits;
}
