#include "base/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "s2s/error.h"

namespace s2s {

namespace {

// A signal handler can access only globals.
std::atomic<int> g_signal_number{0};
std::atomic<const char*> g_announcement{nullptr}, g_of_terminate{nullptr};
std::atomic<bool> g_watching{false};
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
struct sigaction g_old_actions[std::size(kSignals)];
sigset_t g_old_mask;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait");

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

/// A batch system's early warning may come twice (from it and from a launcher), and before the
/// signal that it announces. When a terminal closes, both it and its shell send SIGHUP.
bool is_warning(int number) { return number == SIGUSR1 || number == SIGHUP; }

/// Calls only functions that POSIX allows in a signal handler.
void on_signal(int number) {
  const int interrupted_errno = errno;
  if (isatty(STDERR_FILENO) == 1) say("\r\033[K");  // the status line
  int before = 0;
  const bool is_first = g_signal_number.compare_exchange_strong(before, number);
  if (!is_first && !is_warning(number)) {
    if (!is_warning(before)) _exit(128 + number);
    g_signal_number = number;
  }
  const char* const line = number == SIGTERM ? g_of_terminate : g_announcement;
  if (is_first && line != nullptr) say(line);
  errno = interrupted_errno;
}

sigset_t warning_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kSignals) {
    if (is_warning(number)) sigaddset(&set, number);
  }
  return set;
}

}  // namespace

InterruptWatch::InterruptWatch(const char* announcement, const char* of_terminate) {
  S2S_ASSERT(!g_watching.exchange(true), "signal handlers are the process's, there is one watch");
  g_signal_number = 0;
  g_announcement = announcement;
  g_of_terminate = of_terminate == nullptr ? announcement : of_terminate;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &g_old_actions[i]);
    const bool stays_ignored = kSignals[i] == SIGHUP && g_old_actions[i].sa_handler == SIG_IGN;
    if (stays_ignored) sigaction(SIGHUP, &g_old_actions[i], nullptr);
  }
  const sigset_t held = warning_signals();
  pthread_sigmask(SIG_UNBLOCK, &held, &g_old_mask);
}

InterruptWatch::~InterruptWatch() {
  // Signals that were blocked before are blocked again until the next watch.
  const sigset_t held = warning_signals();
  sigset_t again;
  sigandset(&again, &held, &g_old_mask);
  pthread_sigmask(SIG_BLOCK, &again, nullptr);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &g_old_actions[i], nullptr);
  }
  g_watching = false;
}

bool InterruptWatch::requested() const { return signal_number() != 0; }
int InterruptWatch::signal_number() const { return g_signal_number; }

void InterruptWatch::request(int signal_number) {
  int expected = 0;
  g_signal_number.compare_exchange_strong(expected, signal_number);
}

bool interrupt_requested() { return g_watching && g_signal_number != 0; }

void hold_warnings() {
  const sigset_t held = warning_signals();
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

void outlive_readers() {
  struct sigaction action = {};
  sigaction(SIGPIPE, nullptr, &action);
  if (action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};  // SIG_IGN would be inherited
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace s2s
