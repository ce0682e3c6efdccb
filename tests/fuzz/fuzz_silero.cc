// Any bytes as the file of Silero's weights: refused with a message that lists what is missing, or
// read.

#include <cstddef>
#include <cstdint>

#include "fuzz/input_file.h"
#include "metrics/turn_taking/silero.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const char* const name : {"silero.safetensors", "silero.pt"}) {
    const s2s::test::InputFile input(name);
    try {
      s2s::turn_taking::SileroNetwork network(input.write(data, size));
    } catch (const s2s::Error&) {  // what a user would read
    }
  }
  return 0;
}
