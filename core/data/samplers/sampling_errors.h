#pragma once
// Mistakes in how cuts are put into batches. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data::sampling_errors {

/// [data/batch-limits]: nothing says when a batch is full.
Error no_limit();
/// [data/batch-limits]: what says so is not above 0.
Error limit(const std::string& option, double value);
/// [data/too-few-cuts]: fewer cuts than buckets.
Error too_few_cuts(int64_t num_cuts, int64_t num_buckets);
/// [data/bins]: bounds, batch sizes and ratios of buckets do not belong together.
Error bins(const std::string& found, const std::string& expected);
/// [data/longer-than-bins]: a cut fits no bucket; `size` and `largest` say lengths.
Error longer_than_bins(const Cut& cut, const std::string& size, const std::string& largest);

}  // namespace s2s::data::sampling_errors
