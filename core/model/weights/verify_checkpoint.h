#pragma once
// Whether a checkpoint is what was written.

#include <string>

#include "weights/verify_weights.h"

namespace s2s {

/// Reads all of a checkpoint that has an index: lengths and checksums of every file, every element
/// of every tensor, what the files say of their shards against the index, files that ranks of
/// another run left. Each is a finding. One tensor is in memory at a time.
WeightsVerdict verify_checkpoint(const std::string& folder);

}  // namespace s2s
