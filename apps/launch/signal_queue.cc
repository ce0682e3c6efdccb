#include "launch/signal_queue.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace s2s::launch {

SignalQueue::SignalQueue() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    // A blocked signal is queued even if it is ignored (nohup).
    const bool stays_ignored = signal == SIGHUP && action.sa_handler == SIG_IGN;
    if (!stays_ignored) sigaddset(&taken, signal);
  }
  sigprocmask(SIG_BLOCK, &taken, &old_mask_);
  descriptor_ = ::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SignalQueue::~SignalQueue() {
  ::close(descriptor_);
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

std::optional<int> SignalQueue::next() const {
  signalfd_siginfo info;
  if (::read(descriptor_, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace s2s::launch
