#include "base/accelerator.h"

#include <ATen/DeviceAccelerator.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/outside_current_folder.h"

namespace s2s {
namespace {

/// One per process, like LibTorch's devices.
struct Opened {
  std::mutex mutex;
  bool is_tried = false;
  std::optional<c10::DeviceType> type;
  std::string why;
};

Opened& opened() {
  static Opened state;
  return state;
}

const char* chosen_library() {
  const char* const library = std::getenv("S2S_DEVICE_LIBRARY");
  return library == nullptr || *library == '\0' ? nullptr : library;
}

/// Calls dlopen. A name without a path does not find a file in the current folder.
void* loaded(const char* name, int flags, std::string& why) {
  // A path that the user typed is relative to the current folder.
  const bool is_path = std::strchr(name, '/') != nullptr;
  const std::string place = is_path ? std::filesystem::absolute(name).string() : name;
  void* handle = nullptr;
  outside_current_folder([&] {
    handle = dlopen(place.c_str(), flags);
    if (handle == nullptr) why = dlerror();
  });
  return handle;
}

void open_library(Opened& state) {
  const char* library = chosen_library();
  if (!has_accelerator_driver()) {
    state.why = "there is no NVIDIA driver (libcuda.so.1)";
    return;
  }
  if (library == nullptr) library = "libtorch_cuda.so";
  if (loaded(library, RTLD_NOW | RTLD_GLOBAL, state.why) == nullptr) return;
  if (at::accelerator::deviceCount() == 0) {
    state.why = "LibTorch sees no GPU";
  } else {
    state.type = at::accelerator::getAccelerator();
  }
}

}  // namespace

std::optional<c10::DeviceType> open_accelerator(std::string& why) {
  Opened& state = opened();
  const std::lock_guard lock(state.mutex);
  if (!std::exchange(state.is_tried, true)) open_library(state);
  why = state.why;
  return state.type;
}

std::optional<c10::DeviceType> opened_accelerator() {
  Opened& state = opened();
  const std::lock_guard lock(state.mutex);
  return state.type;
}

bool has_accelerator_driver() {
  if (chosen_library() != nullptr) return true;
  std::string ignored;
  void* const driver = loaded("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL, ignored);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

}  // namespace s2s
