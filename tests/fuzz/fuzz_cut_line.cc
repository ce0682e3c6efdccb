// Any bytes as a line of a manifest: refused with a message, or a cut whose JSON is read again as
// the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuts/cut_files.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  try {
    const std::string json = s2s::to_json(s2s::parse_cut(line, "fuzz", 1));
    if (s2s::to_json(s2s::parse_cut(json, "fuzz", 1)) != json) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
