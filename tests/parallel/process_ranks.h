#pragma once
// Ranks that are processes: this program again, with one test case to run.

#include <string>
#include <vector>

namespace s2s::test {

/// Starts `size` copies of this program, each to run the (skipped) test case `name` as one rank,
/// and returns their exit codes, 128 and the number for a signal.
std::vector<int> run_process_ranks(int size, const std::string& name);

}  // namespace s2s::test
