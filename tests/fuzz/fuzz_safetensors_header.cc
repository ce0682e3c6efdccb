// Any bytes as a header; the first byte says how many bytes of data follow it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "s2s/error.h"
#include "weights/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const auto header = s2s::parse_safetensors_header("fuzz", text, data[0]);
    uint64_t bytes = 0;
    for (const auto& [name, entry] : header.entries) bytes += entry.end - entry.begin;
    if (bytes != data[0]) __builtin_trap();  // without holes and overlaps they are all the data
    s2s::format_safetensors_header("fuzz", header);
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
