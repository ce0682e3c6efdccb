#include "codec_errors.h"

namespace s2s::codec {

Error options_error(const std::string& path, const std::string& problem,
                    const std::string& expected) {
  return config_error("codec/training-options",
                      path + ": " + problem + "\n  expected: " + expected);
}

std::string refused_by_transformers(const std::string& option, const std::string& problem,
                                    const std::string& expected) {
  return "[codec/training-export] " + option + ": " + problem +
         ", so transformers' EncodecModel will refuse the export; the codec encodec reads it; "
         "expected " +
         expected + " where transformers is to load it";
}

Error no_audio_error() {
  return data_error("codec/training-audio",
                    "the batch has no target audio, and a codec is trained on that\n"
                    "  expected: data.output_roles with the roles of the voices to train on");
}

}  // namespace s2s::codec
