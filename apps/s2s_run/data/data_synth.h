#pragma once
// Synthesizes a data set that a config requests.

#include <filesystem>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/options.h"
#include "s2s_run/synth/synth.h"

namespace s2s::run {

/// The options of a config's `data.synth` block.
OptionTable configured_set_options();

/// The folder of a config's `data.synth` block; "" without the block, or when it exists.
std::string configured_set_to_make(const Config& config);

/// Creates the data set of a config's `data.synth` block, so that a run has its data on first use:
///
///   data:
///     synth: { path: data/tiny, size: tiny, seed: 1, sample_rate: 16000, audio_format: wav }
///
/// Does nothing without the block, or when the set exists. `base_dir`: base of relative paths.
/// Errors: [config/...], [config/missing] without a path, [synth/...].
std::optional<synth::SetSummary> make_configured_set(const Config& config,
                                                     const std::filesystem::path& base_dir);

}  // namespace s2s::run
