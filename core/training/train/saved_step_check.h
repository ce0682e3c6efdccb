#pragma once
// What a data source promises of its batches (s2s/batch.h), checked for those of a saved step,
// which may be damaged or somebody else's.

#include <cstdint>
#include <string>

#include "train/saved_step.h"

namespace s2s {

/// `path`: the file. `vocab_size`: of the model's text ids; 0: not known. Errors: [run/replay] with
/// the tensor, its shape or value, and what was expected.
void check_saved_step(const std::string& path, SavedStep& saved, int64_t vocab_size);

}  // namespace s2s
