#pragma once
// A loop over rows on LibTorch's threads. at::parallel_for is header code that runs in parallel
// only in files compiled with OpenMP, which would add a second OpenMP runtime. The iterator in
// libtorch_cpu does not have this problem.

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace s2s {

/// Calls `body(begin, end)` for ranges that cover 0 .. count - 1, on several threads when count
/// exceeds `grain`. The ranges may have any size.
void parallel_rows(int64_t count, int64_t grain, c10::function_ref<void(int64_t, int64_t)> body);

}  // namespace s2s
