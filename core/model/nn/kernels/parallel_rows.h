#pragma once
// A loop over rows on LibTorch's own threads. Its at::parallel_for is a header that only runs in
// parallel when our files are compiled with OpenMP, which would bring a second OpenMP runtime; the
// iterator inside libtorch_cpu has no such catch.

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace s2s {

/// Calls `body(begin, end)` for ranges that cover 0 .. count - 1, on several threads when count
/// exceeds `grain`. The ranges may be cut in any way.
void parallel_rows(int64_t count, int64_t grain, c10::function_ref<void(int64_t, int64_t)> body);

}  // namespace s2s
