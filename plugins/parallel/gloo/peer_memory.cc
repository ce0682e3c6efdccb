#include "peer_memory.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "s2s/foreign_text.h"

namespace s2s::gloo {
namespace {

constexpr uint64_t kProbe = 0x73327370656572;
const volatile uint64_t probe = kProbe;  // other ranks read it

/// What a rank tells the others of itself.
struct Introduction {
  std::string machine;  // the boot, and the namespace in which process ids are counted
  pid_t process = 0;
  uint64_t probe_at = 0;
};

std::string this_machine() {
  std::error_code failed;
  const std::string names = std::filesystem::read_symlink("/proc/self/ns/pid", failed);
  if (failed) return "?";
  try {
    const std::string boot = read_small_file("/proc/sys/kernel/random/boot_id");
    return boot.substr(0, boot.find('\n')) + names;
  } catch (const std::system_error&) {
    return "?";
  }
}

std::string key_of(const char* what, int64_t rank) {
  return fmt::format("peer_memory/{}/{}", what, rank);
}

void put(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string get(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

Introduction parsed(const std::string& text) {
  Introduction out;
  std::istringstream(text) >> out.machine >> out.process >> out.probe_at;
  return out;
}

/// Returns the number of bytes that were copied; -1: errno says why none.
ssize_t copy_from(pid_t process, uint64_t from, void* to, size_t num_bytes) {
  const iovec local = {to, num_bytes};
  // An address of another process is a number here.
  const iovec remote = {reinterpret_cast<void*>(from), num_bytes};  // NOLINT
  return ::process_vm_readv(process, &local, 1, &remote, 1, 0);
}

bool can_read(const Introduction& other, const std::string& machine) {
  if (machine == "?" || other.machine != machine || other.process <= 0) return false;
  uint64_t seen = 0;
  return copy_from(other.process, other.probe_at, &seen, sizeof seen) == sizeof seen &&
         seen == kProbe;
}

}  // namespace

PeerMemory::PeerMemory(const ProcessPlace& process, c10d::Store& store, bool wanted)
    : first_(process.rank - process.local_rank) {
  if (process.local_size == 1) return;
  // Where Yama guards processes, the launcher's other processes may read this one.
  ::prctl(PR_SET_PTRACER, ::getppid(), 0, 0, 0);
  const std::string machine = this_machine();
  put(store, key_of("process", process.rank),
      fmt::format("{} {} {}", machine, ::getpid(), reinterpret_cast<uintptr_t>(&probe)));
  const int64_t end = std::min(first_ + process.local_size, process.size);
  std::string own;
  for (int64_t rank = first_; rank < end; ++rank) {
    const Introduction other = parsed(get(store, key_of("process", rank)));
    processes_.push_back(other.process);
    own += wanted && can_read(other, machine) ? '1' : '0';
  }
  // With the first rank, because ranks that are not numbered by machine see other neighbors.
  put(store, key_of("readable", process.rank), fmt::format("{} {}", first_, own));
  for (int64_t rank = first_; rank < end; ++rank) {
    int64_t first = -1;
    std::string readable;
    std::istringstream(get(store, key_of("readable", rank))) >> first >> readable;
    const bool agrees = first == first_ && readable.size() == processes_.size();
    readable_.push_back(agrees ? readable : std::string(processes_.size(), '0'));
  }
}

bool PeerMemory::is_here(int64_t rank) const {
  return rank >= first_ && rank < first_ + static_cast<int64_t>(processes_.size());
}

bool PeerMemory::joins(const std::vector<int64_t>& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](int64_t reader) {
    return std::all_of(ranks.begin(), ranks.end(), [&](int64_t other) {
      return is_here(reader) && is_here(other) &&
             readable_[static_cast<size_t>(reader - first_)][static_cast<size_t>(other - first_)] ==
                 '1';
    });
  });
}

void PeerMemory::read(int64_t rank, uint64_t from, void* to, size_t num_bytes) const {
  const pid_t process = processes_.at(static_cast<size_t>(rank - first_));
  auto* out = static_cast<char*>(to);
  while (num_bytes > 0) {
    const ssize_t got = copy_from(process, from, out, std::min<size_t>(num_bytes, INT_MAX / 2));
    if (got <= 0) {
      throw std::runtime_error(
          errno == ESRCH ? fmt::format("remote process exited: rank {}", rank)
                         : fmt::format("cannot read the memory of rank {} (process {}): {}", rank,
                                       process, std::strerror(errno)));
    }
    from += static_cast<uint64_t>(got);
    out += got;
    num_bytes -= static_cast<size_t>(got);
  }
}

}  // namespace s2s::gloo
