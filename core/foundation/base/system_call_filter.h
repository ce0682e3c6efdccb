#pragma once
// Filters of system calls (seccomp): what a process may still ask of the kernel.
// Source: linux/Documentation/userspace-api/seccomp_filter.rst.

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// Builds a filter, first rule first. Calls of another architecture end the process.
class SystemCallFilter {
 public:
  SystemCallFilter();
  /// SECCOMP_RET_ALLOW, SECCOMP_RET_TRAP or `refuse_with`.
  void on_call(int number, uint32_t action);
  /// Only if argument `index` (from 0) has one of these bits in its low 32.
  void on_call_with_bits(int number, int index, uint32_t bits, uint32_t action);
  /// Only if the low 32 bits of argument `index` differ from `value`.
  void on_call_unless(int number, int index, uint32_t value, uint32_t action);
  /// Puts the filter in force for this thread and those that it starts. False: the kernel refused
  /// it, and errno says why.
  bool enforce(uint32_t other_calls);

  /// The call fails with this number.
  static uint32_t refuse_with(int error_number);

 private:
  void add(uint16_t code, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0);
  std::vector<sock_filter> program_;
};

}  // namespace s2s
