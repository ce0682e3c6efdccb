#include "mel_fsq_errors.h"

#include <fmt/format.h>

namespace s2s::mel_fsq {

Error bad_sample_rate(const std::string& path, int64_t rate_hz) {
  return config_error(
      "codec/sample-rate",
      fmt::format(
          "{}.sample_rate: {} Hz; a column of 20 ms must be a whole number of samples, so it has "
          "to be a multiple of 50 from 8000 to 48000, for example 16000, 22050 or 24000",
          path, rate_hz));
}

Error too_many_numbers(const std::string& path, int64_t asked, int64_t available) {
  return config_error(
      "codec/too-many-numbers",
      fmt::format("{}: num_groups times the number of levels is {}, but a frame has only {} "
                  "numbers (4 columns of num_mels); use fewer groups or levels, or more mels",
                  path, asked, available));
}

Error bad_level(const std::string& path, int64_t level) {
  return config_error(
      "codec/level",
      fmt::format("{}.levels: {}; every entry says how many values a number may take, 2 or more, "
                  "and their product is the codebook's size, at most 65536",
                  path, level));
}

Error not_fitted(const std::string& path) {
  return config_error(
      "codec/not-fitted",
      fmt::format("{}: the codec has no statistics yet; they are measured from the agent's audio "
                  "when a run starts and are kept in its checkpoints: load a checkpoint, or start "
                  "with training data that has agent audio",
                  path));
}

Error no_audio(const std::string& path) {
  return data_error(
      "codec/no-audio",
      fmt::format("{}: no agent audio louder than silence was found to measure statistics from; "
                  "check the target_audio of the training data with `s2s-run data inspect`",
                  path));
}

Error code_out_of_range(int64_t code, int64_t codebook_size) {
  return data_error("codec/code-range",
                    fmt::format("code {} was to be decoded, but codes go from 0 to {}; control "
                                "tokens have to be replaced by the codec's silence codes first",
                                code, codebook_size - 1));
}

}  // namespace s2s::mel_fsq
