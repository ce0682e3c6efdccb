#pragma once
// The errors of tune-batch.

#include <string>

#include "s2s/error.h"

namespace s2s::run::tune_errors {

/// The training data has no cut to estimate buckets from.
Error no_cuts();
/// Not even one row of a bucket fits.
Error no_batch(const std::string& length, double limit_bytes);
/// A trial ended otherwise than by training or by running out of memory. `how`: "ended with exit
/// code 3"; `said`: the end of its output.
Error probe_failed(int64_t rows, const std::string& length, const std::string& how,
                   const std::string& said);
/// A flag of NeMo's scripts that does not exist here. `instead`: what to write.
Error not_here(const std::string& flag, const std::string& instead);

}  // namespace s2s::run::tune_errors
