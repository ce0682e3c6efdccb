#include "encodec_errors.h"

namespace s2s::encodec {

Error sizes_error(const std::string& path, const std::string& problem) {
  return config_error("codec/encodec-sizes", path + ": " + problem +
                                                 "\n  expected: the sizes of a config.json of "
                                                 "EnCodec");
}

Error not_streamable() {
  return config_error("codec/not-streamable",
                      "this EnCodec normalizes over whole chunks (norm_type: time_group_norm, "
                      "normalize or chunk_length_s), so it cannot speak or hear piece by piece\n"
                      "  expected: the 24 kHz model (norm_type: weight_norm), or a command that "
                      "decodes whole recordings");
}

std::string untrained(const std::string& path) {
  return "[codec/untrained] " + path +
         ".path: not set, so the codec has random weights and its audio is noise; expected a "
         "folder "
         "of EnCodec";
}

std::string without_scales(const std::string& path) {
  return "[codec/encodec-chunks] " + path +
         ": this EnCodec divides each chunk by its loudness, which its codes do not hold, so "
         "decoded "
         "audio has a loudness of 1; expected the 24 kHz model where a language model predicts "
         "codes";
}

}  // namespace s2s::encodec
