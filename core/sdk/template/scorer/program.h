#pragma once
// Runs an external program.

#include <string>

namespace PLUGIN_NAME {

struct ProgramFiles {
  std::string input, output, log;  // files for standard input, output, error
};

/// Runs a program without arguments and waits for its end. The program has its own process group,
/// so ^C in the terminal stops only the training, which then writes a checkpoint. After `timeout_s`
/// the group is killed. Errors: [PLUGIN_NAME/failed] with the end of the log, when the program
/// cannot be started, ends with an exit code other than 0, or is killed.
void run_program(const std::string& program, const ProgramFiles& files, double timeout_s);

}  // namespace PLUGIN_NAME
