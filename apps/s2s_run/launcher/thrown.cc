// Finds where exceptions are thrown, so that an unexpected one is reported with its plugin. All
// libraries call this __cxa_throw, because the program is searched first.

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <typeinfo>

// The sanitizers have a __cxa_throw of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

struct Thrown {
  const void* exception = nullptr;
  std::array<void*, 48> frames;
  int num_frames = 0;
};

// The newest ones. An exception may be caught by another thread than threw it.
std::array<Thrown, 16> g_thrown;
size_t g_next = 0;
std::mutex g_mutex;

/// Errors with a message for users come from where they say.
bool is_error_of_users(const std::type_info& type) {
  return std::strcmp(type.name(), "N3s2s5ErrorE") == 0;
}

}  // namespace

extern "C" {

/// Copies up to `most` return addresses of where `exception` was thrown, and returns how many.
[[gnu::visibility("default")]] int s2s_frames_of_throw(const void* exception, void** frames,
                                                       int most) {
  const std::lock_guard lock(g_mutex);
  for (size_t i = 1; i <= g_thrown.size(); ++i) {
    const Thrown& thrown = g_thrown[(g_next + g_thrown.size() - i) % g_thrown.size()];
    if (thrown.exception != exception) continue;
    const int count = std::min(most, thrown.num_frames);
    std::copy_n(thrown.frames.begin(), count, frames);
    return count;
  }
  return 0;
}

[[noreturn, gnu::visibility("default")]] void __cxa_throw(void* exception, std::type_info* type,
                                                          void (*destroy)(void*)) {
  using Throw = void (*)(void*, std::type_info*, void (*)(void*));
  static const auto throw_it = reinterpret_cast<Throw>(::dlsym(RTLD_NEXT, "__cxa_throw"));
  if (throw_it == nullptr) std::abort();
  if (!is_error_of_users(*type)) {
    Thrown thrown;
    thrown.exception = exception;
    thrown.num_frames = ::backtrace(thrown.frames.data(), static_cast<int>(thrown.frames.size()));
    const std::lock_guard lock(g_mutex);
    g_thrown[g_next] = thrown;
    g_next = (g_next + 1) % g_thrown.size();
  }
  throw_it(exception, type, destroy);
  __builtin_unreachable();
}

}  // extern "C"

#endif
