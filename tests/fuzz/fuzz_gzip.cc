// Any bytes as a gzip file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "files/gzip_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::files;
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const MemoryFile file("fuzz.gz", bytes);
  std::string buffer(4096, '\0');
  try {
    GzipStream stream(file);
    constexpr int64_t kMostBytes = int64_t{1} << 22;
    int restarts = 64;  // each may read all empty members behind it
    while (!stream.at_end() && stream.out() < kMostBytes) {
      stream.read(buffer.data(), buffer.size(), true);
      if (stream.in() > file.size()) __builtin_trap();
      if (!stream.at_point() || restarts-- <= 0) continue;
      GzipStream again(file, stream.point());  // inflating can begin here
      again.read(buffer.data(), buffer.size());
    }
  } catch (const std::runtime_error&) {  // damaged
  }
  return 0;
}
