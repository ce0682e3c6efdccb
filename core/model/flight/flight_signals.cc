#include "flight/flight_signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <exception>

#include "base/mapped_file.h"
#include "base/plugin_code.h"
#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int kFatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kNumFatal = sizeof(kFatal) / sizeof(kFatal[0]);
/// How long a crashing process waits for its record. The thread that writes it may need a lock that
/// the crashed thread holds.
constexpr int kFatalWaitMs = 3000;
/// After an uncaught exception no locks are held, and the other ranks are asked for their reports.
constexpr int kUncaughtWaitMs = 30000;

// A signal handler can only access globals.
std::atomic<bool> g_is_watching{false};
std::atomic<bool> g_is_requested{false}, g_is_terminated{false}, g_is_written{false};
std::atomic<int> g_fatal{0};
std::atomic<int> g_crashed{0};  // id of the crashed thread, valid once g_fatal is set
char g_stack[1 << 16];          // stack for handlers on the watched thread
stack_t g_old_stack = {};
std::atomic<bool> g_is_uncaught{false};
char g_uncaught[1024];  // written before g_is_uncaught
std::terminate_handler g_old_terminate_handler = nullptr;
struct sigaction g_old_request, g_old_terminate, g_old_fatal[kNumFatal];
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait");

void on_request(int) { g_is_requested = true; }
void on_terminate(int) { g_is_terminated = true; }

void wait_for_record(int limit_ms) {
  const timespec pause = {0, 10000000};
  for (int waited_ms = 0; !g_is_written && waited_ms < limit_ms; waited_ms += 10) {
    ::nanosleep(&pause, nullptr);
  }
}

void on_fatal(int number, siginfo_t* facts, void*) {
  const int interrupted_errno = errno;
  int none = 0;
  const auto self = static_cast<int>(::gettid());
  if (!g_is_watching) {  // a handler that was installed later, and outlives this object, called it
  } else if (g_fatal.compare_exchange_strong(none, number)) {
    g_crashed = self;
    tell_crashed_plugin(number);
    wait_for_record(kFatalWaitMs);
  } else if (g_crashed != self) {
    // Ending the process here would lose the first crash's record. Its thread ends the process.
    while (true) ::pause();
  }
  if (number == SIGBUS) end_if_mapping_was_cut(facts->si_addr);
  ::signal(number, SIG_DFL);
  ::raise(number);
  errno = interrupted_errno;
}

[[noreturn]] void on_uncaught() {
  static std::atomic<bool> is_first{true};
  if (is_first.exchange(false)) {
    std::string text = "an exception that is not a std::exception";
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::exception& error) {
      text = error.what();
    } catch (...) {
    }
    text.resize(std::min(text.size(), sizeof(g_uncaught) - 1));
    std::copy(text.begin(), text.end() + 1, g_uncaught);  // including the terminating zero
    g_is_uncaught = true;
    wait_for_record(kUncaughtWaitMs);
  }
  g_old_terminate_handler();
  std::abort();
}

void install(int number, void (*handler)(int), struct sigaction* old) {
  // After a stack overflow, a handler needs its own stack.
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, old);
}

}  // namespace

FlightSignals::FlightSignals() {
  S2S_ASSERT(!g_is_watching.exchange(true), "signal handlers are the process's, there is one");
  g_is_requested = g_is_terminated = g_is_written = false;
  g_fatal = g_crashed = 0;
  stack_t stack = {};
  stack.ss_sp = g_stack;
  stack.ss_size = sizeof(g_stack);
  ::sigaltstack(&stack, &g_old_stack);
  g_is_uncaught = false;
  g_old_terminate_handler = std::set_terminate(on_uncaught);
  install(SIGUSR2, on_request, &g_old_request);
  ::sigaction(SIGTERM, nullptr, &g_old_terminate);
  if (g_old_terminate.sa_handler == SIG_DFL) install(SIGTERM, on_terminate, nullptr);
  for (size_t i = 0; i < kNumFatal; ++i) {
    struct sigaction action = {};
    action.sa_sigaction = on_fatal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(kFatal[i], &action, &g_old_fatal[i]);
  }
}

FlightSignals::~FlightSignals() {
  ::sigaction(SIGUSR2, &g_old_request, nullptr);
  if (g_old_terminate.sa_handler == SIG_DFL) ::sigaction(SIGTERM, &g_old_terminate, nullptr);
  for (size_t i = 0; i < kNumFatal; ++i) {
    struct sigaction now = {};
    ::sigaction(kFatal[i], nullptr, &now);
    const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fatal;
    if (is_ours) ::sigaction(kFatal[i], &g_old_fatal[i], nullptr);
  }
  std::set_terminate(g_old_terminate_handler);
  ::sigaltstack(&g_old_stack, nullptr);
  g_is_watching = false;
}

std::optional<std::string> FlightSignals::take_uncaught() {
  if (!g_is_uncaught.exchange(false)) return std::nullopt;
  return g_uncaught;
}

bool FlightSignals::take_request() { return g_is_requested.exchange(false); }
int FlightSignals::fatal() const { return g_fatal; }
void FlightSignals::record_is_written() { g_is_written = true; }
bool FlightSignals::is_terminated() const { return g_is_terminated; }

void FlightSignals::end_by_it() {
  ::signal(SIGTERM, SIG_DFL);
  ::raise(SIGTERM);
  ::_exit(128 + SIGTERM);
}

}  // namespace s2s
