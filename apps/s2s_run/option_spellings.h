#pragma once
// Options of `launch` as schedulers and other launchers spell them.

#include <functional>
#include <string>
#include <vector>

namespace s2s::run {

/// Rewrites the words of a command of `launch`, up to `--`: "--num_gpus=2" is "--num-ranks=2" and
/// "--cpus-per-task" "--cpus-per-rank" where the command has these options and not the written
/// ones. `has_option`: whether `launch COMMAND` has an option of this name.
void understand_spellings(
    std::vector<std::string>& words,
    const std::function<bool(const std::string& command, const std::string& option)>& has_option);

}  // namespace s2s::run
