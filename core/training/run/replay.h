#pragma once
// Runs a saved training step again, alone: `s2s-run train --replay FILE`.

#include <string>

#include "run/run_config.h"
#include "s2s/error.h"

namespace s2s::run {

struct RunProgram;

/// Returns the arguments to use for a saved step: without a configuration, that of the step's
/// weights. A step of several ranks is run by one process. Errors: [run/replay], those of reading
/// the file.
ConfigArguments replay_arguments(const ConfigArguments& given, const std::string& file);

/// Computes the step with the weights of then, and prints its loss and gradient norm beside the
/// saved ones, what in the batch is not finite, and the first module whose output is not finite.
/// Returns kOk when both numbers are those of then bit for bit, else kCheckFailed. Errors: those of
/// the components and of checkpoints, [comm/one-process].
ExitCode replay_step(const ConfigArguments& arguments, const RunProgram& program,
                     const std::string& file);

}  // namespace s2s::run
