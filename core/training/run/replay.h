#pragma once
// Replays a saved training step in one process: `s2s-run train --replay FILE`.

#include <string>

#include "run/run_config.h"
#include "s2s/error.h"

namespace s2s::run {

struct RunProgram;

/// Returns the arguments for a saved step. Without a configuration, they name that of the step's
/// weights. Errors: [run/replay], those of reading the file.
ConfigArguments replay_arguments(const ConfigArguments& given, const std::string& file);

/// Computes the step with its weights. Prints its loss and gradient norm beside the saved ones,
/// what in the batch is not finite, and the first module with a non-finite output. Returns kOk if
/// both numbers are bit-identical to the saved ones, else kCheckFailed. Errors: those of the
/// components and of checkpoints, [comm/one-process].
ExitCode replay_step(const ConfigArguments& arguments, const RunProgram& program,
                     const std::string& file);

}  // namespace s2s::run
