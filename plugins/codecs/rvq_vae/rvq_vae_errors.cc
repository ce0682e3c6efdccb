#include "rvq_vae_errors.h"

#include <fmt/format.h>

namespace s2s::rvq_vae {

Error bad_stages(const std::string& path, size_t channel_factors, size_t rates) {
  return config_error("codec/stages",
                      fmt::format("{}.channel_mult: {} entries, but {}.rates has {}; expected as "
                                  "many as rates, one for each stage, and at least one",
                                  path, channel_factors, path, rates));
}

Error bad_frame_samples(const std::string& path, int64_t given, int64_t expected) {
  return config_error(
      "codec/frame-samples",
      fmt::format("{}.wav_to_token_ratio: {}; expected {}, which is hop_length times the product "
                  "of the rates; correct the ratio or the rates",
                  path, given, expected));
}

Error bad_window(const std::string& path, int64_t n_fft, int64_t hop_length) {
  return config_error(
      "codec/window",
      fmt::format("{}.n_fft: {} with hop_length {}; expected an even n_fft that is larger than "
                  "hop_length by an even number, for example 16 and 4",
                  path, n_fft, hop_length));
}

Error bad_groups(const std::string& path, int64_t groups, int64_t channels) {
  return config_error(
      "codec/groups",
      fmt::format("{}.groups: {}; expected a divisor of latent_size and of the channels of each "
                  "stage, but one has {} channels; use groups: 1",
                  path, groups, channels));
}

Error code_out_of_range(int64_t code, int64_t codebook_size) {
  return data_error("codec/code-range",
                    fmt::format("cannot decode code {}; expected a code from 0 to {}; "
                                "replace control tokens by the codec's silence codes first",
                                code, codebook_size - 1));
}

std::string untrained(const std::string& path) {
  return fmt::format(
      "[codec/untrained] {}.path: not set, so the codec has random weights and its audio is noise; "
      "expected the weights of a trained RVQVAEModel",
      path);
}

}  // namespace s2s::rvq_vae
