#pragma once
// Checks the batches of a saved step against the contract of data sources (s2s/batch.h). The file
// may be damaged or a stranger's.

#include <cstdint>
#include <string>

#include "train/saved_step.h"

namespace s2s {

/// `path`: the file. `vocab_size`: of the model's text ids; 0: not known. Errors: [run/replay] with
/// the tensor, its shape or value, and what was expected.
void check_saved_step(const std::string& path, SavedStep& saved, int64_t vocab_size);

}  // namespace s2s
