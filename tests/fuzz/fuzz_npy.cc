// Any bytes as a .npy file; what is read is written and read again.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "files/npy.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const at::Tensor array = s2s::files::parse_npy(bytes, "fuzz.npy");
    const at::Tensor again = s2s::files::parse_npy(s2s::files::format_npy(array), "again.npy");
    if (again.sizes() != array.sizes()) __builtin_trap();
    if (again.scalar_type() != array.scalar_type()) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
