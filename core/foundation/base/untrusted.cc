#include "base/untrusted.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/machine.h"
#include "base/system_call_filter.h"

namespace s2s {
namespace {

constexpr const char* kVariable = "S2S_UNTRUSTED";

Error system_error(const std::string& what, int reason) {
  return {
      ExitCode::kUsage, "untrusted/system",
      fmt::format("--untrusted: {} failed: {}; without it, this process would keep rights that "
                  "it must not have\n"
                  "  next:      use a kernel with seccomp filters (a container may forbid them), "
                  "or run without --untrusted in a virtual machine",
                  what, std::strerror(reason))};
}

/// Lowers a limit. A limit that is already lower is kept.
void limit_to(int resource, double most, const char* what) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    throw system_error(what, errno);
  }
  const auto wanted = static_cast<rlim_t>(most);
  limit.rlim_cur = std::min(limit.rlim_cur, wanted);  // RLIM_INFINITY is the largest value
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    throw system_error(what, errno);
  }
}

void limit_memory() {
  const MachineMemory memory = machine_memory();
  const double there = memory.limit > 0 ? std::min(memory.limit, memory.total) : memory.total;
  if (there > 0) limit_to(RLIMIT_DATA, there * kUntrustedMemoryShare, "a limit of memory");
}

/// Calls only functions that POSIX allows in a signal handler.
void on_time_limit(int /*number*/) {
  static_assert(kUntrustedSeconds == 3600, "the text says so");
  constexpr std::string_view kText =
      "\nerror: "
      "[untrusted/time] --untrusted: this command has used all its processor time (3600 s, or less "
      "where ulimit -t says so)\n"
      "  next:      run it on fewer files, or without --untrusted if you trust them\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(static_cast<int>(ExitCode::kCheckFailed));
}

void limit_time() {
  struct sigaction action = {};
  action.sa_handler = on_time_limit;
  ::sigaction(SIGXCPU, &action, nullptr);
  limit_to(RLIMIT_CPU, kUntrustedSeconds, "a limit of processor time");
}

}  // namespace

bool is_untrusted() {
  const char* const value = std::getenv(kVariable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

void set_untrusted() { ::setenv(kVariable, "1", /*overwrite=*/1); }

void lose_rights(const KeptRights& kept) {
  limit_memory();
  if (!kept.long_work) limit_time();
  SystemCallFilter filter;
  const uint32_t refuse = SystemCallFilter::refuse_with(EPERM);
  for (const int number : {SYS_execve,
                           SYS_execveat,
                           SYS_ptrace,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_pidfd_getfd,
                           SYS_kcmp,
                           SYS_bpf,
                           SYS_perf_event_open,
                           SYS_userfaultfd,
                           SYS_io_uring_setup,
                           SYS_add_key,
                           SYS_request_key,
                           SYS_keyctl,
                           SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_setns,
                           SYS_open_by_handle_at,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_delete_module,
                           SYS_kexec_load,
                           SYS_reboot,
                           SYS_swapon,
                           SYS_swapoff,
                           SYS_acct,
                           SYS_mknodat}) {
    filter.on_call(number, refuse);
  }
  // Threads and processes are allowed, namespaces are not: they open kernel code that otherwise
  // needs root.
  constexpr uint32_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
                                   CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  filter.on_call_with_bits(SYS_clone, 0, kNamespaces, refuse);
  filter.on_call_with_bits(SYS_unshare, 0, kNamespaces, refuse);
  filter.on_call(SYS_clone3, SystemCallFilter::refuse_with(ENOSYS));  // glibc then calls clone
  if (!kept.network) filter.on_call(SYS_socket, refuse);
  if (!filter.enforce(SECCOMP_RET_ALLOW)) throw system_error("a filter of system calls", errno);
}

Error untrusted_error(const std::string& what, const std::string& next) {
  return {ExitCode::kUsage, "untrusted/refused",
          fmt::format("--untrusted excludes {}\n  next:      {}", what, next)};
}

}  // namespace s2s
