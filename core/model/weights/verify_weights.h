#pragma once
// Verifies that weight files and checkpoints are complete and valid before they are used.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s {

/// What was read, and all problems found, each with one or more lines.
struct WeightsVerdict {
  int64_t num_files = 0;
  int64_t num_tensors = 0;
  uint64_t num_bytes = 0;  // bytes of tensors
  std::vector<std::string> findings;

  /// Runs `action`. An exception becomes a finding.
  template <class Action>
  void attempt(Action action) {
    try {
      action();
    } catch (const Error& error) {
      findings.emplace_back(error.what());
    }
  }
};

/// Verifies `path` (any path that WeightFiles::open accepts): headers, sizes, the index against its
/// files in both directions, repeated names, and every element. Keeps only one tensor in memory.
/// Errors: [weights/unreadable] when `path` does not exist. All other problems are findings.
WeightsVerdict verify_weights(const std::string& path);

/// Verifies a checkpoint that has an index: lengths and checksums of every file, every element of
/// every tensor, the files' metadata against the index, and files left by another run. Each problem
/// is a finding. Keeps only one tensor in memory.
WeightsVerdict verify_checkpoint(const std::string& folder);

}  // namespace s2s
