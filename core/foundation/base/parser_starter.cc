#include "base/parser_starter.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/byte_codec.h"
#include "base/system_call_filter.h"
#include "base/write_whole.h"
#include "s2s/error.h"

namespace s2s {
namespace {

int g_stream = -1;  // of this parser process; a signal handler can access only globals

/// Returns false at the end of the stream.
bool read_from(int file, void* to, size_t num_bytes) {
  char* at = static_cast<char*>(to);
  InterruptedCalls interrupted;
  while (num_bytes > 0) {
    const ssize_t count = ::read(file, at, num_bytes);
    if (count < 0 && interrupted.again()) continue;
    if (count <= 0) return false;
    interrupted.reset();
    at += count;
    num_bytes -= static_cast<size_t>(count);
  }
  return true;
}

void reply(ParserStatus status, std::string_view bytes) {
  const uint64_t size = bytes.size();
  const bool is_written = write_whole(g_stream, &status, sizeof status) &&
                          write_whole(g_stream, &size, sizeof size) &&
                          write_whole(g_stream, bytes.data(), bytes.size());
  if (!is_written) ::_exit(1);
}

/// Calls only functions that POSIX allows in a signal handler.
[[noreturn]] void end_with(ParserStatus status, int64_t number) {
  reply(status, {reinterpret_cast<const char*>(&number), sizeof number});
  ::_exit(1);
}

void on_signal(int number, siginfo_t* info, void* /*context*/) {
  if (number == SIGPROF) end_with(ParserStatus::kTime, 0);
  if (number == SIGSYS) end_with(ParserStatus::kForbidden, info->si_syscall);
  end_with(ParserStatus::kCrash, number);
}

void catch_signals() {
  constexpr size_t kStackBytes = 1 << 16;
  static std::array<char, kStackBytes> stack;
  stack_t own = {};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  ::sigaltstack(&own, nullptr);  // for an overflow of the stack itself
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number :
       {SIGPROF, SIGSYS, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXFSZ, SIGXCPU}) {
    ::sigaction(number, &action, nullptr);
  }
}

/// Bytes of writable private memory of this process.
int64_t data_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  int64_t pages = 0;
  if (std::fscanf(file, "%*d %*d %*d %*d %*d %ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * ::sysconf(_SC_PAGESIZE);
}

bool set_limit(__rlimit_resource_t resource, int64_t most) {
  const rlimit limit{static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  return ::setrlimit(resource, &limit) == 0;
}

bool set_limits(const ParserLimits& limits) {
  constexpr int64_t kWholeLifeSeconds = 3600;  // the timer is per request
  return set_limit(RLIMIT_DATA, data_bytes() + limits.memory_bytes) &&
         set_limit(RLIMIT_CPU, kWholeLifeSeconds) && set_limit(RLIMIT_FSIZE, limits.file_bytes) &&
         set_limit(RLIMIT_NPROC, 0) && set_limit(RLIMIT_NOFILE, 0) && set_limit(RLIMIT_CORE, 0);
}

/// Allows memory, time and the open files. Calls that libraries try and do not need are refused,
/// and all other calls end the process.
bool enforce_filter() {
  SystemCallFilter filter;
  const uint32_t refuse = SystemCallFilter::refuse_with(EPERM);
  for (const int number : {SYS_mmap, SYS_mprotect}) {
    filter.on_call_with_bits(number, 2, PROT_EXEC, refuse);
  }
  filter.on_call_unless(SYS_tgkill, 0, static_cast<uint32_t>(::getpid()), refuse);
  for (const int number :
       {SYS_read,         SYS_write,       SYS_readv,           SYS_writev,
        SYS_pread64,      SYS_pwrite64,    SYS_lseek,           SYS_fstat,
        SYS_newfstatat,   SYS_ftruncate,   SYS_close,           SYS_mmap,
        SYS_mprotect,     SYS_munmap,      SYS_mremap,          SYS_brk,
        SYS_madvise,      SYS_futex,       SYS_clock_gettime,   SYS_gettimeofday,
        SYS_getrandom,    SYS_setitimer,   SYS_rt_sigreturn,    SYS_rt_sigprocmask,
        SYS_rt_sigaction, SYS_sigaltstack, SYS_restart_syscall, SYS_sched_yield,
        SYS_getpid,       SYS_gettid,      SYS_tgkill,          SYS_exit,
        SYS_exit_group}) {
    filter.on_call(number, SECCOMP_RET_ALLOW);
  }
  for (const int number : {
         SYS_openat, SYS_faccessat, SYS_readlinkat, SYS_statx, SYS_ioctl, SYS_fcntl, SYS_prctl,
             SYS_prlimit64, SYS_sysinfo, SYS_uname, SYS_getrusage, SYS_sched_getaffinity
#if defined(SYS_open)
             ,
             SYS_open, SYS_access, SYS_readlink, SYS_stat
#endif
       }) {
    filter.on_call(number, refuse);
  }
  return filter.enforce(SECCOMP_RET_TRAP);
}

void set_timer(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string error_bytes(const Error& error) {
  ByteWriter bytes;
  bytes.number(static_cast<int64_t>(error.exit_code()));
  bytes.text(error.id());
  bytes.text(error.message());
  return bytes.take();
}

void answer(const ParserOrder& order, const std::string& request, const std::vector<int>& files) {
  set_timer(order.limits.seconds);
  try {
    const std::string result = order.parse(request, files);
    set_timer(0);
    reply(ParserStatus::kDone, result);
  } catch (const Error& error) {
    reply(ParserStatus::kError, error_bytes(error));
  } catch (const std::bad_alloc&) {
    end_with(ParserStatus::kMemory, 0);
  } catch (const std::exception& error) {
    reply(ParserStatus::kReason, error.what());
  }
  set_timer(0);
}

[[noreturn]] void be_parser(const ParserOrder& order, int stream, const std::vector<int>& files) {
  g_stream = stream;
  catch_signals();
  if (!set_limits(order.limits) || !enforce_filter()) ::_exit(1);
  uint64_t size = 0;
  while (read_from(stream, &size, sizeof size)) {
    std::string request;
    try {
      request.resize(size);
    } catch (const std::exception&) {
      end_with(ParserStatus::kMemory, 0);
    }
    if (!read_from(stream, request.data(), size)) break;
    answer(order, request, files);
  }
  ::_exit(0);
}

/// Returns the files that came with the message.
std::vector<int> files_of(msghdr& message) {
  std::vector<int> files;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    files.resize(count);
    std::memcpy(files.data(), CMSG_DATA(part), count * sizeof(int));
  }
  return files;
}

/// Returns false when the program has ended.
bool receive(int control, ParserOrder& order, std::vector<int>& files) {
  iovec bytes{&order, sizeof order};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * (1 + kMostParserFiles))> beside{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  ssize_t count = 0;
  InterruptedCalls interrupted;
  do {
    count = ::recvmsg(control, &message, 0);
  } while (count < 0 && interrupted.again());
  if (count != sizeof order) return false;
  files = files_of(message);
  return !files.empty();
}

/// Keeps only `control`, and ignores the signals of a terminal or a batch system: the program
/// decides what they mean, and the starter ends with it.
void settle(int control) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP}) {
    std::signal(number, SIG_IGN);
  }
  const int null = ::open("/dev/null", O_RDWR);
  for (int file = 0; null >= 0 && file < 3; ++file) ::dup2(null, file);
  for (int file = 3; file < static_cast<int>(::sysconf(_SC_OPEN_MAX)) && file < 65536; ++file) {
    if (file != control) ::close(file);
  }
}

/// Waits for parser processes that have ended, so that the system can forget them.
void forget_ended(std::vector<pid_t>& parsers) {
  std::erase_if(parsers,
                [](pid_t parser) { return ::waitpid(parser, nullptr, WNOHANG) == parser; });
}

void end_all(const std::vector<pid_t>& parsers) {
  for (const pid_t parser : parsers) ::kill(parser, SIGKILL);
  for (const pid_t parser : parsers) ::waitpid(parser, nullptr, 0);
}

}  // namespace

void start_parsers(int control) {
  settle(control);
  std::vector<pid_t> parsers;
  ParserOrder order;
  std::vector<int> files;
  while (receive(control, order, files)) {
    const int stream = files.front();
    forget_ended(parsers);
    const int64_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(control);
      files.erase(files.begin());
      be_parser(order, stream, files);
    }
    if (process > 0) parsers.push_back(static_cast<pid_t>(process));
    write_whole(stream, &process, sizeof process);  // before the first request
    for (const int file : files) ::close(file);
    files.clear();
  }
  end_all(parsers);
  ::_exit(0);
}

}  // namespace s2s
