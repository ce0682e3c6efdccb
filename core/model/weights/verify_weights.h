#pragma once
// Whether weight files and checkpoints are whole, and what they should be, before anything is built
// from them.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s {

/// What was read, and everything that is wrong with it, a line or more each.
struct WeightsVerdict {
  int64_t num_files = 0;
  int64_t num_tensors = 0;
  uint64_t num_bytes = 0;  // of tensors
  std::vector<std::string> findings;

  /// What `action` throws is a finding.
  template <class Action>
  void attempt(Action action) {
    try {
      action();
    } catch (const Error& error) {
      findings.emplace_back(error.what());
    }
  }
};

/// Reads all of `path` (what WeightFiles::open takes): headers, sizes, the index against its files
/// in both directions, names that are there twice, and every element. One tensor is in memory at a
/// time. Errors: [weights/unreadable] when there is nothing at `path`; all else is a finding.
WeightsVerdict verify_weights(const std::string& path);

/// Reads all of a checkpoint that has an index: lengths and checksums of every file, every element
/// of every tensor, what the files say of their shards against the index, files that ranks of
/// another run left. Each is a finding. One tensor is in memory at a time.
WeightsVerdict verify_checkpoint(const std::string& folder);

}  // namespace s2s
