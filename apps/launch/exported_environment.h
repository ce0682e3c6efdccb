#pragma once
// The environment variables that a launcher takes to other machines.
// Source: deepspeed/launcher/runner.py (EXPORT_ENVS, DEEPSPEED_ENVIRONMENT_NAME).

#include <string>
#include <utility>
#include <vector>

namespace s2s::launch {

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// This process's variables whose names begin with NCCL, PYTHON, MV2, UCX, OMP_, S2S_ or GLOO_,
/// then NAME=VALUE of the file that DS_ENV_FILE names, or else of `.deepspeed_env` in the home
/// folder, then of `files`, then `given`, each NAME=VALUE or the name of a variable of this
/// process. Later ones replace earlier ones. Errors: [launch/environment].
Assignments exported_environment(const std::vector<std::string>& given,
                                 const std::vector<std::string>& files);

/// NAME=VALUE of a file that may have come with a download. Errors: [launch/environment], also for
/// names that make programs load or run others (LD_PRELOAD, S2S_PLUGIN_PATH, ...).
Assignments read_environment_file(const std::string& file);

/// The `.deepspeed_env` of the current folder, which DeepSpeed would read and s2s does not; "" if
/// there is none, or it is the user's own.
std::string unread_environment_file();

/// NAME=VALUE. Errors: [launch/environment], also for a name whose value a launcher sets.
std::pair<std::string, std::string> parse_assignment(const std::string& text,
                                                     const std::string& where);

}  // namespace s2s::launch
