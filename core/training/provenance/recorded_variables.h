#pragma once
// Environment variables that explain a run and hold no secret.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::run {

/// True for the names of such variables. A list of whole names: of names that only begin alike, one
/// may hold a secret (SLURM_JWT beside SLURM_JOB_ID).
bool is_recorded_variable(std::string_view name);

/// Returns these variables of `environment` (NAME=VALUE, as `environ`). *** is the value of one
/// that contains the value of a variable with a secret name, or a password in an address.
std::map<std::string, std::string> recorded_environment(
    const std::vector<std::string>& environment);

/// Returns those of this process.
std::map<std::string, std::string> recorded_environment();

}  // namespace s2s::run
