#include <ATen/Context.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <system_error>

#include "base/accelerator.h"
#include "base/machine.h"
#include "base/outside_current_folder.h"
#include "s2s/foreign_text.h"
#include "s2s/plugin_note.h"
#include "s2s_run/doctor/finding.h"

namespace s2s::run {
namespace {

/// The file that a function comes from.
std::string file_of(const void* function) {
  Dl_info facts{};
  return ::dladdr(function, &facts) != 0 && facts.dli_fname != nullptr ? facts.dli_fname : "?";
}

Finding libtorch() {
  const std::string file = file_of(reinterpret_cast<const void*>(&at::show_config));
  return {"LibTorch", Level::kOk,
          fmt::format("{}, {} instructions, {}", S2S_TORCH_VERSION_TEXT, at::get_cpu_capability(),
                      file),
          ""};
}

std::string first_line_of(const char* file) {
  try {
    const std::string text = read_small_file(file);
    return text.substr(0, text.find('\n'));
  } catch (const std::system_error&) {
    return "";
  }
}

template <class Function>
Function* function_in(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// "13.0" of 13000
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Asks the driver itself, which answers also where LibTorch cannot use it.
std::vector<Finding> driver() {
  void* library = nullptr;
  outside_current_folder([&] { library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); });
  if (library == nullptr) {
    return {{"driver", Level::kNote, "no NVIDIA driver (libcuda.so.1): training uses the CPU", ""}};
  }
  auto* const init = function_in<int(unsigned)>(library, "cuInit");
  auto* const version = function_in<int(int*)>(library, "cuDriverGetVersion");
  auto* const count = function_in<int(int*)>(library, "cuDeviceGetCount");
  auto* const name = function_in<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* const memory = function_in<int(size_t*, int)>(library, "cuDeviceTotalMem_v2");
  int number = 0, devices = 0;
  const int code = init == nullptr ? -1 : init(0);
  if (version != nullptr) version(&number);
  const std::string kernel = first_line_of("/proc/driver/nvidia/version");
  if (code != 0 || count == nullptr || count(&devices) != 0) {
    return {{"driver", Level::kError,
             fmt::format("the NVIDIA driver does not start (cuInit: {})", code),
             "run nvidia-smi; load the kernel module of the same version, or start the container "
             "with --gpus all"}};
  }
  std::vector<Finding> out = {
      {"driver", Level::kOk, fmt::format("CUDA {} {}", version_text(number), kernel), ""}};
  for (int i = 0; i < devices && name != nullptr && memory != nullptr; ++i) {
    char text[256] = "";
    size_t bytes = 0;
    name(text, sizeof(text), i);
    memory(&bytes, i);
    out.push_back({"GPU", Level::kOk,
                   fmt::format("{}: {}, {}", i, text, gigabytes_text(static_cast<double>(bytes))),
                   ""});
  }
  return out;
}

Finding nccl() {
  void* library = nullptr;
  outside_current_folder([&] { library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL); });
  auto* const get =
      library == nullptr ? nullptr : function_in<int(int*)>(library, "ncclGetVersion");
  int version = 0;
  if (get == nullptr || get(&version) != 0) {
    return {"NCCL", Level::kWarning, "libnccl.so.2 is not found",
            "install the NCCL of LibTorch's version: runs of several GPUs need it"};
  }
  return {"NCCL", Level::kOk,
          fmt::format("{}.{}.{}, {}", version / 10000, version / 100 % 100, version % 100,
                      file_of(reinterpret_cast<const void*>(get))),
          ""};
}

}  // namespace

std::vector<Finding> library_findings() {
  std::vector<Finding> out = {libtorch()};
  std::string why;
  const bool has_driver = has_accelerator_driver();
  const auto device = open_accelerator(why);
  for (Finding& finding : driver()) out.push_back(std::move(finding));
  if (device) {
    out.push_back({"device", Level::kOk, "LibTorch uses the GPU", ""});
    out.push_back(nccl());
  } else if (has_driver) {
    out.push_back({"device", Level::kWarning, "LibTorch does not use the GPU: " + why,
                   "use a LibTorch with CUDA (bash core/setup.sh --help), or train on the CPU with "
                   "trainer.accelerator=cpu"});
  }
  return out;
}

}  // namespace s2s::run
