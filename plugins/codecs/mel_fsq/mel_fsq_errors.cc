#include "mel_fsq_errors.h"

#include <fmt/format.h>

namespace s2s::mel_fsq {

Error bad_sample_rate(const std::string& path, int64_t rate_hz) {
  return config_error(
      "codec/sample-rate",
      fmt::format(
          "{}.sample_rate: {} Hz; expected a multiple of 50 from 8000 to 48000, for example 16000, "
          "22050 or 24000, so that 20 ms are a whole number of samples",
          path, rate_hz));
}

Error too_many_numbers(const std::string& path, int64_t asked, int64_t available) {
  return config_error(
      "codec/too-many-numbers",
      fmt::format("{}: num_groups times the number of levels is {}; expected at most {} "
                  "(4 * num_mels); use fewer groups or levels, or more mel bands",
                  path, asked, available));
}

Error bad_level(const std::string& path, int64_t level) {
  return config_error(
      "codec/level",
      fmt::format("{}.levels: {}; expected entries of at least 2 whose product (the codebook "
                  "size) is at most 65536",
                  path, level));
}

Error not_fitted(const std::string& path) {
  return config_error(
      "codec/not-fitted",
      fmt::format("{}: the codec has no statistics yet; a training run computes them from the "
                  "agent's audio and saves them in its checkpoints; load a checkpoint, or train "
                  "on data with agent audio",
                  path));
}

Error no_audio(const std::string& path) {
  return data_error(
      "codec/no-audio",
      fmt::format("{}: the agent's audio is silent, so no statistics can be computed; check the "
                  "target_audio of the training data with `s2s-run data inspect`",
                  path));
}

Error code_out_of_range(int64_t code, int64_t codebook_size) {
  return data_error("codec/code-range",
                    fmt::format("cannot decode code {}; expected a code from 0 to {}; replace "
                                "control tokens by the codec's silence codes first",
                                code, codebook_size - 1));
}

}  // namespace s2s::mel_fsq
