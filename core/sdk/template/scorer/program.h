#pragma once
// A program that runs beside this one.

#include <string>

namespace PLUGIN_NAME {

struct ProgramFiles {
  std::string input, output, log;  // of the program's standard input, output, error
};

/// Runs a program without arguments until it ends, in a process group of its own: a ^C in the
/// terminal is for the training, which goes on to a checkpoint. With `timeout_s` over, the group is
/// killed. Errors: [PLUGIN_NAME/failed] when it cannot be started, ends with another code than 0,
/// or is killed; with the end of its log.
void run_program(const std::string& program, const ProgramFiles& files, double timeout_s);

}  // namespace PLUGIN_NAME
