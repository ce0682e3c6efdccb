// Preloaded into s2s-run, flips a bit of a float32 in a message between ranks.
//
//   S2S_FLIP="CALL:N:BIT:FRACTION"   in the N-th (from 1) successful CALL (process_vm_readv,
//   socket)
//                                    that reads at least 1024 bytes, BIT of the float at FRACTION
//                                    (0 to 1) of what was read
//   S2S_FLIP_RANK=R                  only in the process with RANK=R
//   S2S_FLIP_DONE=FILE               is created when a bit was flipped

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<int> g_calls{0};

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_socket(int file) {
  struct stat status = {};
  return fstat(file, &status) == 0 && S_ISSOCK(status.st_mode);
}

bool is_my_rank() {
  const char* const rank = std::getenv("RANK");
  const char* const wanted = std::getenv("S2S_FLIP_RANK");
  return wanted == nullptr || (rank != nullptr && std::strcmp(rank, wanted) == 0);
}

/// Counts a call that has read `num_bytes` into `to`, and flips the bit if it is the one.
void after_read(const char* call, void* to, ssize_t num_bytes) {
  const char* const order = std::getenv("S2S_FLIP");
  if (order == nullptr || num_bytes < 1024 || !is_my_rank()) return;
  char name[32] = {};
  int number = 0, bit = 0;
  double fraction = 0;
  if (std::sscanf(order, "%31[^:]:%d:%d:%lf", name, &number, &bit, &fraction) != 4) std::abort();
  if (std::strcmp(name, call) != 0 || ++g_calls != number) return;
  const auto floats = static_cast<size_t>(num_bytes) / sizeof(uint32_t);
  const auto place = static_cast<size_t>(fraction * static_cast<double>(floats - 1));
  uint32_t value = 0;
  char* const at = static_cast<char*>(to) + place * sizeof(value);
  std::memcpy(&value, at, sizeof(value));
  value ^= uint32_t{1} << (bit % 32);
  std::memcpy(at, &value, sizeof(value));
  const char* const done = std::getenv("S2S_FLIP_DONE");
  if (done != nullptr) close(open(done, O_CREAT | O_WRONLY, 0600));
}

}  // namespace

extern "C" {

ssize_t process_vm_readv(pid_t process, const iovec* local, unsigned long num_local,
                         const iovec* remote, unsigned long num_remote, unsigned long flags) {
  const ssize_t bytes = next("process_vm_readv", &process_vm_readv)(process, local, num_local,
                                                                    remote, num_remote, flags);
  if (bytes > 0) after_read("process_vm_readv", local->iov_base, bytes);
  return bytes;
}

ssize_t recv(int file, void* to, size_t most, int flags) {
  const ssize_t bytes = next("recv", &recv)(file, to, most, flags);
  if (bytes > 0) after_read("socket", to, bytes);
  return bytes;
}

ssize_t read(int file, void* to, size_t most) {
  const ssize_t bytes = next("read", &read)(file, to, most);
  if (bytes >= 1024 && is_socket(file)) after_read("socket", to, bytes);
  return bytes;
}

ssize_t readv(int file, const iovec* parts, int num_parts) {
  const ssize_t bytes = next("readv", &readv)(file, parts, num_parts);
  if (bytes >= 1024 && is_socket(file)) {
    const auto first = static_cast<ssize_t>(parts[0].iov_len);
    after_read("socket", parts[0].iov_base, bytes < first ? bytes : first);
  }
  return bytes;
}

}  // extern "C"
