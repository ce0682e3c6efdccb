#pragma once
// Row kernels (nn/kernels/row_kernels.h) on tensors: which tensors they take, and their threads.

#include <ATen/ATen.h>

#include <algorithm>

#include "base/parallel_rows.h"
#include "nn/kernels/row_kernels.h"

namespace s2s {

constexpr int64_t kElementsPerTask = 32768;

/// Returns true for tensors that the row kernels take.
inline bool runs_in_rows(const at::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

template <class T>
T* data_of(const at::Tensor& tensor) {
  return tensor.mutable_data_ptr<T>();
}

/// Calls `body` with a value of the tensor's dtype.
template <class Body>
void with_type(const at::Tensor& x, Body body) {
  if (x.scalar_type() == at::kFloat) {
    body(float{});
  } else {
    body(c10::BFloat16{});
  }
}

template <class Job>
void run_rows(const Job& job, int64_t count, int64_t elements_per_row) {
  parallel_rows(count, std::max<int64_t>(1, kElementsPerTask / elements_per_row),
                [&](int64_t begin, int64_t end) { rows::run(job, begin, end); });
}

/// Runs element-wise work in ranges large enough for a thread.
template <class Job>
void run_elements(const Job& job, int64_t count) {
  const int64_t pieces = (count + kElementsPerTask - 1) / kElementsPerTask;
  parallel_rows(pieces, 1, [&](int64_t begin, int64_t end) {
    rows::run(job, begin * kElementsPerTask, std::min(count, end * kElementsPerTask));
  });
}

}  // namespace s2s
