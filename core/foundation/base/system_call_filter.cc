#include "base/system_call_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace s2s {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kOtherAbi = 0x40000000;  // x32 has the same architecture and other numbers
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kOtherAbi = 0x40000000;  // these numbers do not exist
#else
#error "the numbers of system calls are known for x86-64 and aarch64"
#endif

constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr uint16_t kReturn = BPF_RET | BPF_K;
constexpr uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr uint16_t kIfAtLeast = BPF_JMP | BPF_JGE | BPF_K;
constexpr uint16_t kIfBits = BPF_JMP | BPF_JSET | BPF_K;

constexpr uint32_t kNumberAt = offsetof(seccomp_data, nr);

/// Offset of the low half of an argument; both architectures are little-endian.
uint32_t argument_at(int index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) +
                               sizeof(uint64_t) * static_cast<size_t>(index));
}

}  // namespace

void SystemCallFilter::add(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
  program_.push_back(sock_filter{code, if_true, if_false, value});
}

SystemCallFilter::SystemCallFilter() {
  add(kLoad, offsetof(seccomp_data, arch));
  add(kIfEqual, kArchitecture, 1, 0);
  add(kReturn, SECCOMP_RET_KILL_PROCESS);
  add(kLoad, kNumberAt);
  add(kIfAtLeast, kOtherAbi, 0, 1);
  add(kReturn, SECCOMP_RET_KILL_PROCESS);
}

void SystemCallFilter::on_call(int number, uint32_t action) {
  add(kIfEqual, static_cast<uint32_t>(number), 0, 1);
  add(kReturn, action);
}

void SystemCallFilter::on_call_with_bits(int number, int index, uint32_t bits, uint32_t action) {
  add(kIfEqual, static_cast<uint32_t>(number), 0, 4);
  add(kLoad, argument_at(index));
  add(kIfBits, bits, 0, 1);
  add(kReturn, action);
  add(kLoad, kNumberAt);
}

void SystemCallFilter::on_call_unless(int number, int index, uint32_t value, uint32_t action) {
  add(kIfEqual, static_cast<uint32_t>(number), 0, 4);
  add(kLoad, argument_at(index));
  add(kIfEqual, value, 1, 0);
  add(kReturn, action);
  add(kLoad, kNumberAt);
}

bool SystemCallFilter::enforce(uint32_t other_calls) {
  add(kReturn, other_calls);
  const sock_fprog program{static_cast<unsigned short>(program_.size()), program_.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

uint32_t SystemCallFilter::refuse_with(int error_number) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error_number) & SECCOMP_RET_DATA);
}

}  // namespace s2s
