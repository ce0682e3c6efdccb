#include "loader/loader_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_errors.h"

namespace s2s::data::loader_errors {

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

Error augmentation_files(const std::string& key, const std::string& folder, bool in_folders) {
  return {ExitCode::kConfig, "data/augmentation-files",
          fmt::format("{}: no audio in {}\n  expected: files {}\n  give another folder, or remove "
                      "the augmentation",
                      key, folder, in_folders ? "FOLDER/*/*.wav" : "FOLDER/*.wav")};
}

Error augmentation_audio(const std::string& file, const std::string& reason) {
  return data_error("data/unreadable-audio",
                    fmt::format("{}: augmentation cannot read this file: {}\n  expected: a WAV "
                                "file; remove it from the folder",
                                file, reason));
}

Error early_interruption() {
  return {
      ExitCode::kConfig, "data/early-interruption",
      "data.early_interruption_prob moves the user's audio and both text channels, but not the "
      "agent's audio, which data.agent_audio loads\n  expected: agent_audio: false (models that "
      "answer in text), or early_interruption_prob: 0"};
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

Error nothing_left(const std::string& path) {
  return data_error("data/empty",
                    fmt::format("{}: the set has no usable cuts; expected at least one; check the "
                                "files, min_duration, max_duration and limit",
                                path));
}

Error no_tokenizer(const std::string& path) {
  return config_error(
      "data/no-tokenizer",
      fmt::format(
          "{} needs a tokenizer for its text channels, but there is none; set model.tokenizer",
          path));
}

Error bad_state(const std::string& path, const std::string& state, const std::string& reason) {
  return data_error("data/state",
                    fmt::format("{}: '{}' is not a valid position in the data: {}; expected one "
                                "that a checkpoint of this kind of data saved; start a new run",
                                path, state.substr(0, 80), reason));
}

Error changed_data(const std::string& path) {
  return data_error(
      "data/state",
      fmt::format("{}: the cuts, or the options that determine their order, differ from those of "
                  "the checkpoint; expected the same for an exact resume; restore them, or set "
                  "allow_changed_data: true to restart the epoch",
                  path));
}

Error too_many_bad(const std::string& where, int64_t limit, const std::vector<std::string>& bad) {
  constexpr size_t kShown = 20;
  std::string list;
  for (size_t i = 0; i < std::min(bad.size(), kShown); ++i) list += "\n  " + bad[i];
  if (bad.size() > kShown) list += fmt::format("\n  and {} more", bad.size() - kShown);
  return data_error("data/too-many-bad",
                    fmt::format("{}: {} cuts cannot be used; expected at most {} (skip_bad); fix "
                                "them ('s2s-run data inspect' lists all), or raise skip_bad:{}",
                                where, bad.size(), limit, list));
}

Error no_good_cut(const std::string& path) {
  return data_error(
      "data/empty",
      fmt::format(
          "{}: no usable cut follows a batch of bad cuts; expected at least one; fix the data set",
          path));
}

Error too_long(const Cut& cut, double longest_s) {
  return data_error(
      "data/too-long",
      fmt::format("{} lasts {:g} s; expected at most {:g}, because a whole row of a batch is in "
                  "memory; shorten such cuts (cut_into_windows_duration, truncate_duration), skip "
                  "them (max_duration), or raise longest_cut",
                  cut.place(), cut.duration_s, longest_s));
}

std::string left_out(const std::string& where, int64_t count, int64_t limit,
                     const std::string& reason) {
  return fmt::format("{}: skipped bad cut {} of at most {}: {}", where, count, limit, reason);
}

std::string long_text(const std::string& path, const TokenChannelCounts& counts, const Cut& first,
                      const DuplexDataOptions& data) {
  std::string cost;
  if (data.long_text == "drop") {
    cost = fmt::format("; {} tokens are dropped", counts.dropped_tokens);
  } else if (data.long_text == "keep") {
    cost = fmt::format("; {} tokens are overwritten, others are placed after the end of their turn",
                       counts.overwritten_tokens);
  }
  return fmt::format(
      "{}: {} of {} agent turns have more text than frames, the first in {}{}; expected at most "
      "one "
      "token for each {} s of a turn; lengthen the turns, shorten the texts, or choose with "
      "data.long_text (keep, drop, error)",
      path, counts.long_turns, counts.turns, first.place(), cost, data.frame_length);
}

Error too_long_text(const std::string& message) { return data_error("data/long-text", message); }

std::string text_cut_off(const std::string& path, const TokenChannelCounts& counts,
                         const Cut& first) {
  return fmt::format(
      "[data/text-cut-off] {}: agent text extends beyond the end of its cut, first in {}; {} "
      "tokens are cut off, {} turns skipped; expected turns and their texts inside the cut; "
      "lengthen the cuts, or shorten the texts",
      path, first.place(), counts.truncated_tokens, counts.skipped_turns);
}

std::string duplicate_ids(const std::string& path, int64_t count, const Cut& again,
                          const std::string& first_place) {
  return fmt::format(
      "[data/duplicate-id] {}: {} of the first cuts have a duplicate id, the first is {}, already "
      "used at {}; expected unique ids; all cuts are used; rename or remove the duplicates",
      path, count, again.place(), first_place);
}

}  // namespace s2s::data::loader_errors
