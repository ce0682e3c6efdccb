// Any bytes as a TextGrid: refused with its line, or words and stretches no more than its bytes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/transcript.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (s2s::convert::parse_text_grid(text, "fuzz").size() > size) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
