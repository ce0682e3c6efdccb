#pragma once
// Errors of making batches. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data::sampling_errors {

/// [data/batch-limits] Nothing limits the size of a batch.
Error no_limit();
/// [data/batch-limits] A limit is not above 0.
Error limit(const std::string& option, double value);
/// [data/too-few-cuts] There are fewer cuts than buckets.
Error too_few_cuts(int64_t num_cuts, int64_t num_buckets);
/// [data/bins] Bounds, batch sizes and ratios of buckets do not fit together.
Error bins(const std::string& found, const std::string& expected);
/// [data/longer-than-bins] A cut fits no bucket. `size` and `largest` are lengths as text.
Error longer_than_bins(const Cut& cut, const std::string& size, const std::string& largest);

}  // namespace s2s::data::sampling_errors
