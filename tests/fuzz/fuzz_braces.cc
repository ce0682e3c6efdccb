// Any bytes as a pattern of shards: refused with a message, or names, at most as many as promised.

#include <cstddef>
#include <cstdint>
#include <string>

#include "files/brace_expansion.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string pattern(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMaxNames = 1'000'000;
  try {
    if (s2s::files::expand_shard_pattern(pattern).size() > kMaxNames) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
