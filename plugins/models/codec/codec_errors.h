#pragma once
// Errors of the model. `path` names the model's options in the config ("model").

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::codec {

/// [codec/training-options]: options that do not fit together.
Error options_error(const std::string& path, const std::string& problem,
                    const std::string& expected);
/// A warning, [codec/training-export]: transformers refuses what this option leads to, because of
/// `problem`.
std::string refused_by_transformers(const std::string& option, const std::string& problem,
                                    const std::string& expected);
/// [codec/training-audio]: a batch has no audio of the agent.
Error no_audio_error();

}  // namespace s2s::codec
