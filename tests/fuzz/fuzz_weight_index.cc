// Any bytes as model.safetensors.index.json: refused with a message, or every file that it names
// lies beside it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "weights/weight_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("model.safetensors.index.json");
  input.write(data, size);
  try {
    const s2s::WeightFolder found = s2s::find_weights(input.folder());
    if (!found.index) __builtin_trap();
    for (const auto& [file, num_tensors] : found.index->files()) {
      const std::filesystem::path path(file);
      if (path.parent_path() != input.folder() || path.filename() == "..") __builtin_trap();
      if (num_tensors < 1) __builtin_trap();
    }
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
