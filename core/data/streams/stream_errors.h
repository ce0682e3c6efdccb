#pragma once
// Errors of building streams of cuts. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data::stream_errors {

/// [data/position] A saved position was not written by this version, or not for this pipeline.
Error damaged_state(const std::string& reason);
/// [data/weights] `found` says what is wrong with the weights of mixed sources.
Error weights(const std::string& found);
/// [data/empty-draw] There is nothing to draw from.
Error empty_draw(const std::string& what);

/// [data/cuts-path] The block names nothing to read.
Error no_input(const std::string& path);
/// [data/input] `node` at `path` has another form than is expected there.
Error bad_input(const std::string& path, const Config& node, const std::string& problem,
                const std::string& expected);
/// [data/command-refused] A file that the user did not write asks to run `command`.
Error command_refused(const std::string& path, const Config& node, const std::string& command);
/// [data/input-type] The type is unknown, or of no use to a duplex model.
Error input_type(const std::string& path, const Config& node, const std::string& why);
/// [data/weights] Some entries of a group have a weight, others have none.
Error some_weights(const std::string& path, const std::string& without);
Error bad_weights(const std::string& path, const Config& node, const std::string& problem,
                  const std::string& expected);
/// [data/input-mixed] Tarred and other data are in one group.
Error mixed_input(const std::string& path, const std::string& tarred, const std::string& other);
/// [data/input-mixed] Only one of several data sets can be opened.
Error finite_streams(const std::string& path);

// NeMo's manifests. `place` is "file:line".
Error nemo_line(const std::string& place, const std::string& problem, const std::string& expected);
Error nemo_shard_name(const std::string& path, const std::string& pattern);
Error nemo_shards(const std::string& manifests, const std::vector<int64_t>& in_manifests,
                  const std::string& tars, const std::vector<int64_t>& in_tars);
Error nemo_member(const std::string& tar, const std::string& member, const std::string& manifest);
Error nemo_audio(const std::string& place, const std::string& audio, const std::string& reason);
Error extra_field(const std::string& path, const std::string& name, const std::string& problem);

// Errors of cuts that cannot be changed as an entry asks.
Error no_segments(const Cut& cut, const std::string& field, const std::string& problem);
Error nothing_to_swap(const Cut& cut, const std::string& what);
/// [data/pairs] Source and target cuts differ in their order, or do not make a dialogue.
Error single_cut(const Cut& cut, const std::string& missing);
Error other_pair(const Cut& source, const Cut& target);
Error bad_pair(const Cut& cut, const std::string& problem);
Error conversation(const std::string& place, const std::string& problem,
                   const std::string& expected);

}  // namespace s2s::data::stream_errors
