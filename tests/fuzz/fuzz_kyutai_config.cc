// Any bytes as a config.json of Moshi, by Kyutai's names or by those of transformers: refused with
// a message, or the sizes of both decoders can be counted.

#include <cstddef>
#include <cstdint>
#include <string>

#include "models/two_level/kyutai.h"
#include "models/two_level/moshi_options.h"
#include "s2s/config.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::two_level;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const s2s::Config foreign = s2s::parse_json(text, "config.json");
    const s2s::Config hf = is_kyutai_config(foreign) ? kyutai_to_hf(foreign) : foreign;
    const auto options = s2s::read_options<MoshiOptions>(moshi_from_hf(hf), "model");
    for (const s2s::DecoderSpec& spec : {main_spec(options, "m"), depth_spec(options, "m")}) {
      if (spec.shape.num_layers < 1 || spec.shape.hidden_size < 1) __builtin_trap();
    }
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
