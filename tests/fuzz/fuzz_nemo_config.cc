// Any bytes as the model_config.yaml of an ASR model or of an audio codec of NeMo: refused with a
// message, or read to options whose check passes or refuses them, too.

#include <cstddef>
#include <cstdint>
#include <string>

#include "codecs/nemo_audio_codec/nemo_audio_codec_options.h"
#include "config/yaml_reader.h"
#include "encoders/fastconformer/fastconformer_options.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/recognizer_config.h"

namespace {

/// Runs `read`, which may refuse.
template <class Read>
void refused_or_read(Read read) {
  try {
    read();
  } catch (const s2s::Error&) {  // what a user would read
  }
}

void read_codec(const s2s::Config& foreign) {
  using namespace s2s::nemo_audio_codec;
  const auto options = s2s::read_options<NemoAudioCodecOptions>(from_nemo(foreign), "codec");
  check(options, "codec");
  if (options.samples_per_frame < 1 || options.vector_quantizer.width() < 1) __builtin_trap();
}

void read_recognizer(const s2s::Config& foreign) {
  const s2s::RecognizerConfig recognizer = s2s::read_recognizer(foreign, "fuzz.nemo");
  using namespace s2s::fastconformer;
  s2s::read_options<FastConformerOptions>(translate(recognizer.encoder), "encoder")
      .check("encoder");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  refused_or_read([&] {
    const s2s::Config foreign = s2s::parse_yaml(text, "model_config.yaml");
    refused_or_read([&] { read_codec(foreign); });
    refused_or_read([&] { read_recognizer(foreign); });
  });
  return 0;
}
