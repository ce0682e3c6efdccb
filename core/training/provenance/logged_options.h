#pragma once
// What loggers receive of a configuration: texts that they may write where others read them.

#include <string>

#include "s2s/config.h"

namespace s2s::run {

/// The value at `path` of a resolved configuration as loggers receive it: texts as they are stored
/// (stored_config), with *** for what has to be given again. Values of recorded variables
/// (recorded_variables.h), numbers of variables without a secret name, and what is not a secret
/// stay as they are. Null when there is none.
Config logged_value(const Config& config, const std::string& path);

/// The loggers (exp_manager.loggers: a list, or one) with such options. Those that a logger uses
/// itself stay as they are: its name, places (with a word like dir, path, uri, url, host, port) and
/// credentials (secret names).
Config logged_loggers(const Config& config);

}  // namespace s2s::run
