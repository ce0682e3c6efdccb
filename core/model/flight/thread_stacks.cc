#include "flight/thread_stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/number_text.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kSignal = SIGURG;
constexpr int kMaxFrames = 64;
constexpr size_t kMaxThreads = 256;
constexpr milliseconds kWait{200};
/// The handler and the frame that the kernel makes for it.
constexpr int kOwnFrames = 2;

// A signal handler can only access globals.
void* g_frames[kMaxFrames];
int g_num_frames = 0;
std::atomic<int> g_asked{0};  // the thread that is to answer
std::atomic<bool> g_is_answered{false};

void on_asked(int) {
  const int interrupted_errno = errno;
  int self = static_cast<int>(::syscall(SYS_gettid));
  if (g_asked.compare_exchange_strong(self, 0)) {  // a late answer is no answer
    g_num_frames = ::backtrace(g_frames, kMaxFrames);
    g_is_answered = true;
  }
  errno = interrupted_errno;
}

/// What follows `begin` on a line of a file of /proc; "" when the thread has ended.
std::string line_of(const fs::path& file, const std::string& begin) {
  try {
    std::istringstream in(read_small_file(file.string()));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(begin)) return line.substr(begin.size());
    }
  } catch (const std::system_error&) {
  }
  return "";
}

/// "libtorch_cpu.so: at::matmul(...) + 42", or the file and the offset for addr2line.
std::string function_at(void* address) {
  constexpr size_t kMaxLetters = 160;
  Dl_info facts{};
  if (::dladdr(address, &facts) == 0) return fmt::format("{}", address);
  const std::string file = fs::path(facts.dli_fname).filename().string();
  const auto offset_from = [&](const void* begin) {
    return static_cast<const char*>(address) - static_cast<const char*>(begin);
  };
  if (facts.dli_sname == nullptr) {
    return fmt::format("{} + {:#x}", file, offset_from(facts.dli_fbase));
  }
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(facts.dli_sname, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? plain.get() : facts.dli_sname;
  if (name.size() > kMaxLetters) name = name.substr(0, kMaxLetters) + "...";
  return fmt::format("{}: {} + {}", file, name, offset_from(facts.dli_saddr));
}

std::vector<std::string> functions(int skipped) {
  std::vector<std::string> out;
  for (int i = skipped; i < g_num_frames; ++i) out.push_back(function_at(g_frames[i]));
  return out;
}

/// Its functions; empty when it does not answer.
std::vector<std::string> stack_of(int thread) {
  g_is_answered = false;
  g_asked = thread;
  if (::syscall(SYS_tgkill, ::getpid(), thread, kSignal) != 0) return {};
  const auto limit = std::chrono::steady_clock::now() + kWait;
  while (!g_is_answered && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  int asked = thread;
  if (!g_is_answered && g_asked.compare_exchange_strong(asked, 0)) return {};
  while (!g_is_answered) std::this_thread::sleep_for(milliseconds(1));  // it is answering now
  return functions(kOwnFrames);
}

}  // namespace

std::vector<FlownThread> thread_stacks() {
  g_num_frames = ::backtrace(g_frames, kMaxFrames);  // loads the library that it needs
  const int self = static_cast<int>(::syscall(SYS_gettid));
  const std::vector<std::string> own = functions(1);
  struct sigaction action = {}, old = {};
  action.sa_handler = on_asked;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  ::sigaction(kSignal, &action, &old);
  std::vector<FlownThread> threads;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/self/task", ignored)) {
    const auto id = read_number<int>(entry.path().filename().string());
    if (!id || threads.size() == kMaxThreads) continue;
    FlownThread thread;
    thread.id = *id;
    thread.name = line_of(entry.path() / "comm", "");
    thread.state = line_of(entry.path() / "status", "State:\t");
    thread.stack = *id == self ? own : stack_of(*id);
    threads.push_back(std::move(thread));
  }
  ::sigaction(kSignal, &old, nullptr);
  return threads;
}

}  // namespace s2s
