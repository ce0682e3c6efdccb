#pragma once
// NVRTC, the compiler that comes with LibTorch's CUDA libraries, opened at run time.

#include <memory>
#include <string>
#include <vector>

namespace s2s::cuda {

struct CompiledSource {
  std::string cubin;
  std::string log;  // of the assembler: registers and spills of each kernel
};

class Nvrtc {
 public:
  /// Returns null, with the reason in `why`, if the library cannot be opened.
  static std::unique_ptr<Nvrtc> open(std::string& why);
  virtual ~Nvrtc();

  /// "13.0".
  virtual std::string version() const = 0;
  /// source: CUDA C++ without includes. architecture: "sm_90a".
  /// Errors: std::runtime_error with the compiler's messages.
  virtual CompiledSource compile(const std::string& source, const std::string& architecture,
                                 const std::vector<std::string>& macros) const = 0;
};

/// "sm_90a" for 9, 0. The suffix (from 9 on) is the exact device.
std::string architecture_name(int major, int minor);

}  // namespace s2s::cuda
