#pragma once
// What `s2s-run doctor` finds.

#include <string>
#include <vector>

#include "plugin/search_path.h"
#include "s2s_run/command_line.h"

namespace s2s::run {

/// kError: training cannot start. kWarning: it starts, but something will be slow, wrong or
/// missing.
enum class Level { kOk, kNote, kWarning, kError };
const char* to_string(Level level);

struct Finding {
  std::string area;  // "memory"
  Level level = Level::kOk;
  std::string text;    // what was found
  std::string remedy;  // what to do; "" when nothing is to do
};

/// Processors, memory, shared memory, limits of the process.
std::vector<Finding> machine_findings();
/// Free space of the folder in which runs are written.
std::vector<Finding> disk_findings(const std::string& folder);
std::vector<Finding> network_findings();
/// Environment variables that change how runs start, communicate or compute.
std::vector<Finding> environment_findings();
/// LibTorch, and with a GPU: driver, CUDA, NCCL. Opens the device: call it after all functions that
/// start child processes.
std::vector<Finding> library_findings();
/// Reads the notes of all plugins, and loads each in a child process.
std::vector<Finding> plugin_findings(const SearchInputs& inputs);
/// Computes on the CPU and the GPU for about `seconds`, in a child process.
std::vector<Finding> maths_findings(double seconds);
/// Starts two ranks that exchange tensors.
std::vector<Finding> collective_findings(const Invocation& invocation);

}  // namespace s2s::run
