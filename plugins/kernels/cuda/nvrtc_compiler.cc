#include "nvrtc_compiler.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <stdexcept>

namespace s2s::cuda {
namespace {

/// The functions that are called, with the types of NVRTC's header.
struct Functions {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Functions& f) {
  return find(library, "nvrtcVersion", f.version) &&
         find(library, "nvrtcGetErrorString", f.error_string) &&
         find(library, "nvrtcCreateProgram", f.create) &&
         find(library, "nvrtcDestroyProgram", f.destroy) &&
         find(library, "nvrtcCompileProgram", f.compile) &&
         find(library, "nvrtcGetProgramLogSize", f.log_size) &&
         find(library, "nvrtcGetProgramLog", f.log) &&
         find(library, "nvrtcGetCUBINSize", f.cubin_size) &&
         find(library, "nvrtcGetCUBIN", f.cubin);
}

class OpenNvrtc : public Nvrtc {
 public:
  explicit OpenNvrtc(const Functions& functions) : f_(functions) {
    int major = 0;
    int minor = 0;
    check(f_.version(&major, &minor));
    version_ = std::to_string(major) + "." + std::to_string(minor);
  }

  std::string version() const override { return version_; }

  CompiledSource compile(const std::string& source, const std::string& architecture,
                         const std::vector<std::string>& macros) const override {
    nvrtcProgram program = nullptr;
    check(f_.create(&program, source.c_str(), "s2s.cu", 0, nullptr, nullptr));
    const std::unique_ptr<nvrtcProgram, decltype(f_.destroy)> owner(&program, f_.destroy);
    std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17",
                                        "--ptxas-options=-v"};
    options.insert(options.end(), macros.begin(), macros.end());
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const nvrtcResult result = f_.compile(program, static_cast<int>(words.size()), words.data());
    CompiledSource compiled;
    size_t size = 0;
    check(f_.log_size(program, &size));
    compiled.log.resize(size);
    check(f_.log(program, compiled.log.data()));
    while (!compiled.log.empty() && compiled.log.back() == '\0') compiled.log.pop_back();
    if (result != NVRTC_SUCCESS) {
      throw std::runtime_error(std::string(f_.error_string(result)) + "\n" + compiled.log);
    }
    check(f_.cubin_size(program, &size));
    compiled.cubin.resize(size);
    check(f_.cubin(program, compiled.cubin.data()));
    return compiled;
  }

 private:
  void check(nvrtcResult result) const {
    if (result != NVRTC_SUCCESS) throw std::runtime_error(f_.error_string(result));
  }

  Functions f_;
  std::string version_;
};

}  // namespace

Nvrtc::~Nvrtc() = default;

std::unique_ptr<Nvrtc> Nvrtc::open(std::string& why) {
  const std::string name = "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000);
  // It stays open: what was compiled may be in use for as long as the process lives.
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = ::dlerror();
    return nullptr;
  }
  Functions functions;
  if (!find_all(library, functions)) {
    why = name + " lacks a function";
    return nullptr;
  }
  return std::make_unique<OpenNvrtc>(functions);
}

std::string architecture_name(int major, int minor) {
  return "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
}

}  // namespace s2s::cuda
