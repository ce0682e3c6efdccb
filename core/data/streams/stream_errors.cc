#include "streams/stream_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config_errors.h"
#include "files/files_errors.h"
#include "streams/input_tree.h"

namespace s2s::data::stream_errors {

Error damaged_state(const std::string& reason) {
  return data_error(
      "data/position",
      fmt::format(
          "the saved position in the data cannot be used: {}; expected one that this pipeline "
          "saved; resume from another checkpoint, or start the data from the beginning",
          reason));
}

Error weights(const std::string& found) {
  return data_error(
      "data/weights",
      fmt::format("the weights of mixed sources are wrong: {}; expected one number for "
                  "each source, none below 0 and at least one above 0",
                  found));
}

Error empty_draw(const std::string& what) {
  return data_error("data/empty-draw", fmt::format("no choice is left to sample from: {}; expected "
                                                   "at least one choice with a weight above 0",
                                                   what));
}

Error no_input(const std::string& path) {
  return config_error(
      "data/cuts-path",
      fmt::format("{} specifies no data; expected input_cfg (several sources), cuts_path (a Lhotse "
                  "manifest, .jsonl or .jsonl.gz, or a list), shar_path (a Shar directory) or "
                  "manifest_filepath (NeMo's); 's2s-run data synth OUT' creates a data set",
                  path));
}

Error bad_input(const std::string& path, const Config& node, const std::string& problem,
                const std::string& expected) {
  return config_error("data/input", fmt::format("{}: {}; expected {}", config_place(path, node),
                                                problem, expected));
}

Error command_refused(const std::string& path, const Config& node, const std::string& command) {
  const Error refused = files_errors::command_refused(command);
  return Error(refused.exit_code(), refused.id(),
               config_place(path, node) + ": " + refused.message());
}

Error input_type(const std::string& path, const Config& node, const std::string& why) {
  const std::string nearest = nearest_name(node.text(), input_types());
  return config_error(
      "data/input-type",
      fmt::format("{}: {} is {}; expected one of {}{}", config_place(path, node),
                  config_value(node), why, fmt::join(input_types(), ", "),
                  nearest.empty() ? "; remove the entry" : "; did you mean " + nearest + "?"));
}

Error some_weights(const std::string& path, const std::string& without) {
  return config_error(
      "data/weights",
      fmt::format("{}: some entries have a weight, but {} has none; expected weights for all "
                  "entries of a group or for none; add or remove weights",
                  path, without));
}

Error bad_weights(const std::string& path, const Config& node, const std::string& problem,
                  const std::string& expected) {
  return config_error("data/weights", fmt::format("{}: {}; expected {}", config_place(path, node),
                                                  problem, expected));
}

Error mixed_input(const std::string& path, const std::string& tarred, const std::string& other) {
  return config_error(
      "data/input-mixed",
      fmt::format("{}: {} is tarred and {} is not; expected one kind in a group, because tarred "
                  "sources are endless and others finite; set force_iterable_dataset: true "
                  "(endless) or force_map_dataset: true",
                  path, tarred, other));
}

Error finite_streams(const std::string& path) {
  return config_error(
      "data/input-mixed",
      fmt::format("{}: max_open_streams mixes shards endlessly, but force_finite or "
                  "metadata_only requires a single pass; expected only one of them; "
                  "remove max_open_streams",
                  path));
}

Error nemo_line(const std::string& place, const std::string& problem, const std::string& expected) {
  return data_error("data/nemo-manifest",
                    fmt::format("{}: {}; expected {}", place, problem, expected));
}

Error nemo_shard_name(const std::string& path, const std::string& pattern) {
  return data_error("data/nemo-shards",
                    fmt::format("'{}' has no shard number; expected a name like {}, with this word "
                                "before the number, as in NeMo; rename or link the files",
                                path, pattern));
}

Error nemo_shards(const std::string& manifests, const std::vector<int64_t>& in_manifests,
                  const std::string& tars, const std::vector<int64_t>& in_tars) {
  return data_error(
      "data/nemo-shards",
      fmt::format("{} {} shards [{}] and {} shards [{}]; expected the same; look for "
                  "a missing file, or for the range in one of the two options",
                  manifests, "has", fmt::join(in_manifests, ", "), tars, fmt::join(in_tars, ", ")));
}

Error nemo_member(const std::string& tar, const std::string& member, const std::string& manifest) {
  return data_error(
      "data/nemo-member",
      fmt::format("{}: member '{}' has no entry in {}; expected one with that audio_filepath; "
                  "pair each tar with its manifest, or set skip_missing_manifest_entries: true",
                  tar, member, manifest));
}

Error nemo_audio(const std::string& place, const std::string& audio, const std::string& reason) {
  return data_error("data/unreadable-audio",
                    fmt::format("{}: '{}' cannot be read: {}; expected an audio file; fix or "
                                "remove the entry (\"_skipme\": true)",
                                place, audio, reason));
}

Error extra_field(const std::string& path, const std::string& name, const std::string& problem) {
  return data_error("data/extra-field",
                    fmt::format("{}: for the field '{}': {}; expected a line of text "
                                "for each cut",
                                path, name, problem));
}

Error no_segments(const Cut& cut, const std::string& field, const std::string& problem) {
  return data_error(
      "data/segments",
      fmt::format("{}: custom field {} {}; expected a list of {{\"start\", \"end\", \"text\"}}, "
                  "which s2s_duplex_overlap_as_s2s_duplex makes turns of; read the set as lhotse "
                  "when it has turns already",
                  cut.place(), field, problem));
}

Error nothing_to_swap(const Cut& cut, const std::string& what) {
  return data_error("data/no-target",
                    fmt::format("{}: it has no {}; expected recording and target_audio, which "
                                "s2s_duplex_reverse_role swaps",
                                cut.place(), what));
}

Error single_cut(const Cut& cut, const std::string& missing) {
  return data_error("data/pairs",
                    fmt::format("{}: there is no {} for it; expected as many source as "
                                "target cuts, with the same ids in the same order",
                                cut.place(), missing));
}

Error other_pair(const Cut& source, const Cut& target) {
  return data_error("data/pairs",
                    fmt::format("{}: the target in its place is '{}' ({}:{}); expected the "
                                "same ids in the same order; sort both sets by id",
                                source.place(), target.id, target.manifest, target.line));
}

Error bad_pair(const Cut& cut, const std::string& problem) {
  return data_error("data/pairs",
                    fmt::format("{}: it {}; expected plain cuts, and targets that begin "
                                "with their recordings; save parts as recordings of "
                                "their own",
                                cut.place(), problem));
}

Error conversation(const std::string& place, const std::string& problem,
                   const std::string& expected) {
  return data_error("data/conversation",
                    fmt::format("{}: {}; expected {}", place, problem, expected));
}

}  // namespace s2s::data::stream_errors
