#pragma once
// Ranks that are processes: this program again, with one test case to run.

#include <sys/types.h>

#include <string>
#include <vector>

namespace s2s::test {

/// Starts `size` copies of this program, each to run the (skipped) test case `name` as one rank,
/// and returns their exit codes, 128 and the number for a signal.
std::vector<int> run_process_ranks(int size, const std::string& name);

/// The two halves of it: processes by rank, and their exit codes once all have ended.
std::vector<pid_t> start_process_ranks(int size, const std::string& name);
std::vector<int> wait_process_ranks(const std::vector<pid_t>& processes);

}  // namespace s2s::test
