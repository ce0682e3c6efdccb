#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/machine.h"
#include "base/number_text.h"
#include "base/text.h"
#include "s2s/foreign_text.h"
#include "s2s_run/doctor/finding.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastMemory = 1e9;  // bytes with which a small model trains
constexpr double kLeastDisk = 1e9;    // bytes for a checkpoint of a small model
constexpr double kLeastSharedMemory = 64e6;
constexpr rlim_t kLeastFiles = 1024;

/// Processors of the control group (version 2), or 0 when it sets no limit.
double group_processors() {
  try {
    std::istringstream text(read_small_file("/sys/fs/cgroup/cpu.max"));
    std::string quota;
    double period = 0;
    if (!(text >> quota >> period) || period <= 0) return 0;
    return read_number<double>(quota).value_or(0) / period;  // "max": no limit
  } catch (const std::system_error&) {
    return 0;
  }
}

Finding processors() {
  const auto all = static_cast<int64_t>(std::thread::hardware_concurrency());
  cpu_set_t allowed;
  int64_t own = all;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) own = CPU_COUNT(&allowed);
  const double group = group_processors();
  Finding out = {"processors", Level::kOk, fmt::format("{} of {}", own, all), ""};
  if (group <= 0 || group >= static_cast<double>(own)) return out;
  out.text += fmt::format(", and the control group allows {:g}", group);
  out.level = Level::kWarning;
  out.remedy = fmt::format("set trainer.num_threads={}: more threads wait for each other",
                           std::max<int64_t>(1, std::llround(std::floor(group))));
  return out;
}

Finding memory() {
  const MachineMemory found = machine_memory();
  Finding out = {"memory", Level::kOk, memory_text(found), ""};
  double free = found.available;
  if (found.limit > 0) free = std::min(free, found.limit);
  if (found.available > 0 && free < kLeastMemory) {
    out.level = Level::kError;
    out.remedy = "end other programs, or ask the scheduler for more memory";
  }
  return out;
}

/// NCCL and data loaders exchange data there.
Finding shared_memory() {
  struct statvfs facts {};
  if (::statvfs("/dev/shm", &facts) != 0) {
    return {"shared memory", Level::kWarning, "there is no /dev/shm",
            "mount it: NCCL on one machine needs it (docker run --shm-size=1g)"};
  }
  const double free = static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize);
  Finding out = {"shared memory", Level::kOk, gigabytes_text(free) + " free in /dev/shm", ""};
  if (free < kLeastSharedMemory) {
    out.level = Level::kWarning;
    out.remedy = "make it larger: NCCL on one machine needs it (docker run --shm-size=1g)";
  }
  return out;
}

Finding open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Finding out = {"open files", Level::kOk, fmt::format("at most {}", limit.rlim_cur), ""};
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kLeastFiles) {
    out.level = Level::kWarning;
    out.remedy = "ulimit -n 4096: data sets of many shards open many files";
  }
  return out;
}

/// Names of the interfaces that are up, without loopback.
std::set<std::string> interfaces() {
  std::set<std::string> names;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return names;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool has_address = one->ifa_addr != nullptr && (one->ifa_addr->sa_family == AF_INET ||
                                                          one->ifa_addr->sa_family == AF_INET6);
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (has_address && is_up) names.insert(one->ifa_name);
  }
  ::freeifaddrs(list);
  return names;
}

/// NCCL takes a list of prefixes; '=' means whole names, '^' all but these. Gloo takes whole names.
/// Source: NCCL's documentation, NCCL_SOCKET_IFNAME.
void check_interface(const char* variable, const std::set<std::string>& names,
                     std::vector<Finding>& out) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0' || *value == '^') return;
  std::string text = value;
  const bool is_whole = text.front() == '=' || std::string_view(variable).starts_with("GLOO");
  if (text.front() == '=') text.erase(0, 1);
  const auto is_meant = [&](const std::string& name) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      if (is_whole ? name == part : name.starts_with(part)) return true;
      begin = end + 1;
    }
    return false;
  };
  if (text == "lo" || std::any_of(names.begin(), names.end(), is_meant)) {
    out.push_back({"network", Level::kNote, fmt::format("{}={}", variable, value), ""});
    return;
  }
  out.push_back(
      {"network", Level::kError, fmt::format("{}={}: no such interface is up", variable, value),
       names.empty() ? fmt::format("unset {}", variable)
                     : fmt::format("unset it, or export {}={}", variable, *names.begin())});
}

}  // namespace

const char* to_string(Level level) {
  constexpr const char* kNames[] = {"ok", "note", "warning", "error"};
  return kNames[static_cast<size_t>(level)];
}

std::vector<Finding> machine_findings() {
  return {processors(), memory(), shared_memory(), open_files()};
}

std::vector<Finding> disk_findings(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_parent_path() && path != path.root_path()) {
    path = path.parent_path();  // a run makes it
  }
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0 || ::access(path.c_str(), W_OK) != 0) {
    return {{"disk", Level::kError, path.string() + " cannot be written",
             "give a folder that you may write with --folder and exp_manager.explicit_log_dir"}};
  }
  const double free = static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize);
  Finding out = {"disk", Level::kOk, gigabytes_text(free) + " free at " + path.string(), ""};
  if (free < kLeastDisk) {
    out.level = Level::kError;
    out.remedy =
        "free some space: a checkpoint has the weights and twice as much for the optimizer";
  } else if (facts.f_files > 0 && facts.f_favail < 1000) {
    out.level = Level::kWarning;
    out.text += fmt::format(", but only {} files more", facts.f_favail);
    out.remedy = "remove files: the file system has hardly any inodes left";
  }
  return {out};
}

std::vector<Finding> network_findings() {
  const std::set<std::string> names = interfaces();
  std::vector<Finding> out;
  if (names.empty()) {
    out.push_back(
        {"network", Level::kNote, "no interface but loopback: runs of one machine only", ""});
  } else {
    out.push_back({"network", Level::kOk, joined({names.begin(), names.end()}, ", "), ""});
  }
  for (const char* variable : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    check_interface(variable, names, out);
  }
  return out;
}

}  // namespace s2s::run
