#include "nemo_audio_codec_errors.h"

#include <fmt/format.h>

namespace s2s::nemo_audio_codec {

Error sizes_error(const std::string& path, const std::string& problem,
                  const std::string& expected) {
  return config_error("codec/nemo-sizes",
                      fmt::format("{}: {}; expected {}; take the sizes of the model_config.yaml in "
                                  "the .nemo archive",
                                  path, problem, expected));
}

Error code_error(int64_t code, int64_t codebook_size) {
  return data_error("codec/code-range",
                    fmt::format("cannot decode code {}; expected a code from 0 to {}; replace "
                                "control tokens by the codec's silence codes first",
                                code, codebook_size - 1));
}

Error too_short(const std::string& half, int64_t frames, int64_t needed) {
  return data_error("codec/too-short",
                    fmt::format("the symmetric {} of the codec got {} frames; expected at least "
                                "{}, because its convolutions reflect what is at the ends; pad "
                                "the audio with silence",
                                half, frames, needed));
}

std::string untrained(const std::string& path) {
  return fmt::format(
      "[codec/untrained] {}.path: not set, so the codec has random weights and its audio is noise; "
      "expected a .nemo archive of an AudioCodecModel",
      path);
}

}  // namespace s2s::nemo_audio_codec
