#include "base/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>  // defines the macros of the C library
#include <mutex>
#include <system_error>
#include <utility>

#include "base/untrusted.h"
#include "s2s/foreign_text.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace s2s {
namespace {

constexpr double kGigabyte = 1e9;

/// Returns "" if a file cannot be read.
std::string text_of(const std::string& path) {
  try {
    return read_small_file(path);
  } catch (const std::system_error&) {
    return "";
  }
}

/// Returns the bytes of a line "KEY: N kB" in a file of /proc, or 0 without such a line.
double of_proc(const std::string& path, const std::string& key) {
  const std::string text = text_of(path);
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : 1024 * std::strtod(text.c_str() + at + key.size(), nullptr);
}

double of_meminfo(const std::string& key) { return of_proc("/proc/meminfo", key); }

/// Returns the smallest memory.max of the process's control group and its parents, or 0 without a
/// limit.
double of_control_groups() {
  const std::string text = text_of("/proc/self/cgroup");
  const size_t at = text.find("0::/");
  if (at == std::string::npos) return 0;
  double least = 0;
  std::string group = text.substr(at + 3, text.find('\n', at) - at - 3);
  while (true) {
    const std::string limit = text_of("/sys/fs/cgroup" + group + "/memory.max");
    const double bytes = std::strtod(limit.c_str(), nullptr);  // 0 for "max"
    if (bytes > 0 && (least == 0 || bytes < least)) least = bytes;
    if (group.empty()) return least;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

MachineMemory machine_memory() {
  MachineMemory memory;
  memory.total = of_meminfo("MemTotal:");
  memory.available = of_meminfo("MemAvailable:");
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    memory.limit = static_cast<double>(limit.rlim_cur);
    memory.limit_name = "ulimit -v";
  }
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      (memory.limit == 0 || static_cast<double>(limit.rlim_cur) < memory.limit)) {
    memory.limit = static_cast<double>(limit.rlim_cur);
    memory.limit_name = is_untrusted() ? "--untrusted" : "ulimit -d";
  }
  const double group = of_control_groups();
  if (group > 0 && group < memory.total && (memory.limit == 0 || group < memory.limit)) {
    memory.limit = group;
    memory.limit_name = "the control group's memory.max";
  }
  return memory;
}

std::string gigabytes_text(double bytes) {
  return bytes < 0.1 * kGigabyte ? fmt::format("{:.1f} MB", bytes / 1e6)
                                 : fmt::format("{:.1f} GB", bytes / kGigabyte);
}

std::string memory_text(const MachineMemory& memory) {
  std::string text;
  if (memory.total > 0) {
    text = fmt::format("{:.1f} of the machine's {} are free", memory.available / kGigabyte,
                       gigabytes_text(memory.total));
  }
  if (memory.limit > 0) {
    text += fmt::format("{}{} allows this process {}", text.empty() ? "" : ", and ",
                        memory.limit_name, gigabytes_text(memory.limit));
  }
  return text;
}

double asked_bytes(std::string_view message) {
  constexpr std::string_view kBefore = "ried to allocate ";
  const size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return 0;
  const std::string rest(message.substr(at + kBefore.size(), 64));
  char* end = nullptr;
  const double number = std::strtod(rest.c_str(), &end);
  const std::string_view unit(end + (*end == ' ' ? 1 : 0));
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}}};
  for (const auto& [name, bytes] : kUnits) {
    if (unit.starts_with(name)) return number * bytes;
  }
  return number;
}

int64_t peak_memory_bytes() {
  // getrusage also counts the program before its exec, for example a launcher in Python.
  const auto own = static_cast<int64_t>(of_proc("/proc/self/status", "VmHWM:"));
  if (own > 0) return own;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

std::string host_name() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return host.data();
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  /// Glibc's maximum; larger blocks are mapped one by one.
  constexpr int kLargestFromHeap = 32 << 20;
  constexpr int kFreeAtTop = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestFromHeap);
  mallopt(M_TRIM_THRESHOLD, kFreeAtTop);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  // If another allocator replaces glibc's, this may be the first call of glibc's own allocator,
  // which initializes itself without a lock.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  malloc_trim(0);
#endif
}

}  // namespace s2s
