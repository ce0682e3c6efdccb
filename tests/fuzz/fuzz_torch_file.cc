// Any bytes as a file of torch.save: the zip directory, the pickle in it and its tensors' places.

#include <ATen/core/Tensor.h>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "weights/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("input.ckpt");
  try {
    const auto file = s2s::TorchFile::open(input.write(data, size));
    for (const auto& [name, entry] : file.entries()) {
      const at::Tensor tensor = file.tensor(name);
      // The first and the last element lie in the file, which the reader has checked.
      if (tensor.numel() == 0) continue;
      int64_t last = 0;
      for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
        last += (tensor.size(dim) - 1) * tensor.stride(dim);
      }
      const auto* bytes = static_cast<const volatile char*>(tensor.const_data_ptr());
      const auto width = static_cast<int64_t>(tensor.element_size());
      static_cast<void>(bytes[0] + bytes[(last + 1) * width - 1]);
    }
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
