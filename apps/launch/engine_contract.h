#pragma once
// What engines that start this program expect of it when it ends.

#include <string>

namespace s2s::launch {

/// Writes the message that ends this process to the file of TORCHELASTIC_ERROR_FILE, if torchrun
/// set it. torchrun then prints it as the cause.
/// Source: torch/distributed/elastic/multiprocessing/errors/error_handler.py.
void write_error_file(const std::string& message);

/// The exit code for the engine. Some take every code but 0 for a failure. They set
/// S2S_STOPPED_FILE to a file: a run that stopped on request with a checkpoint (8) then creates it
/// and ends with 0. Returns 8 when the file cannot be created.
int answer_engine(int exit_code);

}  // namespace s2s::launch
