// Any bytes as a `.gzidx`: it is refused, or every block and line lies inside of the content.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "files/gzip_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::files;
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  try {
    const GzipIndex index = GzipIndex::parse(bytes, *bytes);
    for (int64_t i = 0; i < index.num_points(); ++i) {
      const int64_t begin = index.block_begin(i);
      if (begin < 0 || begin > index.block_begin(i + 1)) __builtin_trap();
      if (begin < index.block_begin(i + 1) && index.block_of(begin) != i) __builtin_trap();
      try {
        const GzipPoint point = index.point(i);
        if (point.in > index.compressed_bytes() || point.window.size() > 32768) __builtin_trap();
      } catch (const std::runtime_error&) {  // a damaged window
      }
    }
  } catch (const std::runtime_error&) {  // the index is made again
  }
  return 0;
}
