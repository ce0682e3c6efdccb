#include "base/plugin_code.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace s2s {
namespace {

constexpr int kMostFrames = 48;

/// The addresses of a plugin's code. Never removed, because plugins are never unloaded.
struct Code {
  uintptr_t begin = 0, end = 0;
  std::array<char, 512> path = {};
};

// A signal handler reads this without a lock.
std::array<Code, 512> g_codes;
std::atomic<size_t> g_num_codes{0};
std::mutex g_adding;

const char* plugin_at(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  const size_t count = g_num_codes;
  for (size_t i = 0; i < count; ++i) {
    if (g_codes[i].begin <= place && place < g_codes[i].end) return g_codes[i].path.data();
  }
  return nullptr;
}

const char* plugin_in(void* const* frames, int count) {
  for (int i = 0; i < count; ++i) {
    if (const char* const path = plugin_at(frames[i])) return path;
  }
  return nullptr;
}

/// Sets the segments of the library that contains the address.
int find_segments(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto& code = *static_cast<Code*>(data);
  const uintptr_t inside = code.begin;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t first = library->dlpi_addr + segment.p_vaddr;
    begin = std::min(begin, first);
    end = std::max(end, first + segment.p_memsz);
  }
  if (inside < begin || inside >= end) return 0;
  code.begin = begin;
  code.end = end;
  return 1;
}

void put(std::array<char, 1024>& line, size_t& size, const char* text) {
  const size_t count = std::min(std::strlen(text), line.size() - size);
  std::copy_n(text, count, line.begin() + static_cast<std::ptrdiff_t>(size));
  size += count;
}

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

void on_crash(int signal) {
  tell_crashed_plugin(signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void remember_plugin_code(const std::string& path, const void* inside) {
  const std::lock_guard lock(g_adding);
  const size_t count = g_num_codes;
  Code code;
  code.begin = reinterpret_cast<uintptr_t>(inside);
  if (count == g_codes.size() || plugin_at(inside) != nullptr) return;
  if (dl_iterate_phdr(find_segments, &code) == 0) return;
  path.copy(code.path.data(), code.path.size() - 1);
  g_codes[count] = code;
  g_num_codes = count + 1;
}

const char* plugin_on_stack() {
  std::array<void*, kMostFrames> frames;
  return plugin_in(frames.data(), ::backtrace(frames.data(), kMostFrames));
}

const char* plugin_that_threw(const void* exception) {
  using Frames = int (*)(const void* exception, void** frames, int most);
  static const auto frames_of_throw =
      reinterpret_cast<Frames>(::dlsym(RTLD_DEFAULT, "s2s_frames_of_throw"));
  if (frames_of_throw == nullptr) return nullptr;
  std::array<void*, kMostFrames> frames;
  return plugin_in(frames.data(), frames_of_throw(exception, frames.data(), kMostFrames));
}

void tell_crashed_plugin(int signal) {
  const char* const plugin = plugin_on_stack();
  if (plugin == nullptr) return;
  std::array<char, 1024> line;
  size_t size = 0;
  put(line, size, "error: ");
  put(line, size, "[plugin/crash] the plugin ");
  put(line, size, plugin);
  put(line, size, " has crashed (SIG");
  put(line, size, ::sigabbrev_np(signal));
  put(line, size,
      ")\n  next:      tell its author; 's2s-run plugin check FILE' runs its parts one by one\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), size);
}

void tell_crashed_plugins() {
  void* none[1];
  ::backtrace(none, 1);  // loads what backtrace needs now, not in a handler
  for (const int signal : kCrashes) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace s2s
