#pragma once
// Filters system calls (seccomp), which limits what a process may request from the kernel.
// Source: linux/Documentation/userspace-api/seccomp_filter.rst.

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// Builds a filter. The first rule that matches counts. Calls of another architecture end the
/// process.
class SystemCallFilter {
 public:
  SystemCallFilter();
  /// SECCOMP_RET_ALLOW, SECCOMP_RET_TRAP or `refuse_with`.
  void on_call(int number, uint32_t action);
  /// Applies only if the low 32 bits of argument `index` (from 0) contain one of `bits`.
  void on_call_with_bits(int number, int index, uint32_t bits, uint32_t action);
  /// Applies only if the low 32 bits of argument `index` differ from `value`.
  void on_call_unless(int number, int index, uint32_t value, uint32_t action);
  /// Activates the filter for this thread and for threads that it starts. Returns false, with
  /// errno, if the kernel refuses it.
  bool enforce(uint32_t other_calls);

  /// The action that makes the call fail with this errno.
  static uint32_t refuse_with(int error_number);

 private:
  void add(uint16_t code, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0);
  std::vector<sock_filter> program_;
};

}  // namespace s2s
