#pragma once
// Mistakes in how streams of cuts are put together. Ids are listed in
// core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data::stream_errors {

/// [data/position]: a saved position is not one that this version wrote, or not of this pipeline.
Error damaged_state(const std::string& reason);
/// [data/weights]: `found` is what is wrong with the weights of sources that are mixed.
Error weights(const std::string& found);
/// [data/empty-draw]: nothing to draw from.
Error empty_draw(const std::string& what);

/// [data/cuts-path] Nothing to read is named.
Error no_input(const std::string& path);
/// [data/input] `node` at `path` is not what is expected there.
Error bad_input(const std::string& path, const Config& node, const std::string& problem,
                const std::string& expected);
/// [data/command-refused] A file that is not the user's own says to run it.
Error command_refused(const std::string& path, const Config& node, const std::string& command);
/// [data/input-type] Unknown, or of no use to a duplex model.
Error input_type(const std::string& path, const Config& node, const std::string& why);
/// [data/weights] Some entries of a group have a weight, others have none.
Error some_weights(const std::string& path, const std::string& without);
Error bad_weights(const std::string& path, const Config& node, const std::string& problem,
                  const std::string& expected);
/// [data/input-mixed] Tarred and other data in one group.
Error mixed_input(const std::string& path, const std::string& tarred, const std::string& other);
/// [data/input-mixed] Several data sets of which only one can be opened.
Error finite_streams(const std::string& path);

// NeMo's manifests. `place` is "file:line".
Error nemo_line(const std::string& place, const std::string& problem, const std::string& expected);
Error nemo_shard_name(const std::string& path, const std::string& pattern);
Error nemo_shards(const std::string& manifests, const std::vector<int64_t>& in_manifests,
                  const std::string& tars, const std::vector<int64_t>& in_tars);
Error nemo_member(const std::string& tar, const std::string& member, const std::string& manifest);
Error nemo_audio(const std::string& place, const std::string& audio, const std::string& reason);
Error extra_field(const std::string& path, const std::string& name, const std::string& problem);

// Cuts that cannot become what an entry asks for.
Error no_segments(const Cut& cut, const std::string& field, const std::string& problem);
Error nothing_to_swap(const Cut& cut, const std::string& what);
/// [data/pairs] Source and target cuts that do not go in step, or make no dialogue.
Error single_cut(const Cut& cut, const std::string& missing);
Error other_pair(const Cut& source, const Cut& target);
Error bad_pair(const Cut& cut, const std::string& problem);
Error conversation(const std::string& place, const std::string& problem,
                   const std::string& expected);

}  // namespace s2s::data::stream_errors
