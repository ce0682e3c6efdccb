#include "loader/batches_errors.h"

#include <fmt/format.h>

#include "config/config_errors.h"

namespace s2s::data::cut_batches_errors {
namespace {

Error config_error(const char* id, std::string message) {
  return Error(ExitCode::kConfig, id, std::move(message));
}

Error data_error(const char* id, std::string message) {
  return Error(ExitCode::kData, id, std::move(message));
}

}  // namespace

Error no_batch_size(const std::string& path) {
  return config_error(
      "data/batch-size",
      fmt::format(
          "{} has none of batch_size, batch_duration and bucket_batch_size; expected at least one; "
          "add for example 'batch_size: 4', or bucket_duration_bins and bucket_batch_size",
          path));
}

Error seed(const std::string& path, const Config& node) {
  return config_error("data/seed",
                      fmt::format("{}: {}; expected a whole number, randomized or trng",
                                  config_place(path, node), config_value(node)));
}

Error bins(const std::string& path, const Config& node, const std::string& problem) {
  return config_error(
      "data/bins",
      fmt::format("{}: {}; expected ascending seconds [3, 6, ...] or [[3, 20], [3, 40], "
                  "...] of seconds and tokens; 's2s-run data estimate-bins' suggests some",
                  config_place(path, node), problem));
}

Error options(const std::string& path, const std::string& problem, const std::string& expected) {
  return config_error("data/options", fmt::format("{}: {}; expected {}", path, problem, expected));
}

Error concatenate(const std::string& path, const std::string& problem) {
  return config_error("data/concatenate",
                      fmt::format("{}.concatenate: {}; expected max_duration of at least one "
                                  "frame, and frames of whole samples at both rates; fix "
                                  "max_duration or data.frame_length",
                                  path, problem));
}

Error no_tokenizer(const std::string& path, const std::string& option) {
  return config_error("data/no-tokenizer",
                      fmt::format("{}.{} counts tokens, but there is no tokenizer; set "
                                  "model.tokenizer, or remove the option",
                                  path, option));
}

Error no_batches(const std::string& path, int64_t num_discarded) {
  return data_error(
      "data/empty",
      fmt::format("{}: a whole pass produced no batch ({} cuts fit no bucket); expected at least "
                  "one; check the filters (min_duration, max_duration, max_tps, limit), bins, and "
                  "drop_last with too few cuts for a batch",
                  path, num_discarded));
}

Error no_noise() {
  return data_error("data/empty",
                    "noise_path is a set without cuts; expected at least one; check the path, or "
                    "remove the option");
}

Error bad_state(const std::string& path, const std::string& reason) {
  return data_error("data/state",
                    fmt::format("{}: not a valid position in the data: {}; expected one that a "
                                "checkpoint of this kind of data saved; start a new run",
                                path, reason));
}

Error alt_text(const Cut& cut, const std::string& value) {
  return data_error("data/alt-text",
                    fmt::format("{}: custom field alt_text has {}; expected {{\"es\": {{\"text\": "
                                "\"hola\", \"lang\": \"es\"}}, ...}}; fix the manifest",
                                cut.place(), value.substr(0, 80)));
}

Error channel(const Cut& cut, const std::string& problem) {
  return data_error("data/channel",
                    fmt::format("{}: channel_selector: {}; expected a channel of its "
                                "recording, or a custom field that has one",
                                cut.place(), problem));
}

}  // namespace s2s::data::cut_batches_errors
