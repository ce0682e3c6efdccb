#pragma once
// `s2s-run data synth` on behalf of a config that names a set to make.

#include <filesystem>
#include <optional>

#include "s2s/config.h"
#include "s2s/options.h"
#include "s2s_run/synth/synth.h"

namespace s2s::run {

/// The options of a config's `data.synth` block.
OptionTable configured_set_options();

/// Makes the set that a config's `data.synth` block asks for, so that a run has its data on first
/// use:
///
///   data:
///     synth: { path: data/tiny, size: tiny, seed: 1, sample_rate: 16000, audio_format: wav }
///
/// Nothing without the block; nothing is done again for a set that is there. `base_dir`: folder
/// that a relative path starts from.  Errors: [config/...], [config/missing] without a path,
/// [synth/...].
std::optional<synth::SetSummary> make_configured_set(const Config& config,
                                                     const std::filesystem::path& base_dir);

}  // namespace s2s::run
