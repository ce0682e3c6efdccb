#pragma once
// Errors of the metrics of turns.

#include <string>

#include "s2s/error.h"

namespace s2s::turn_taking {

/// [metric/distribution]: `id` in the file `path` of the option `backchannel_distributions`.
Error distribution_error(const std::string& path, const std::string& id,
                         const std::string& problem);
/// [metric/no-silero]: `task` cannot be measured. `path`: of the metric's options in the config.
Error no_silero(const std::string& path, const std::string& task);

}  // namespace s2s::turn_taking
