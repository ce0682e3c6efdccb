#include "nn/few_rows.h"

#include "nn/lanes.h"

namespace s2s::rows {
namespace {

/// kOut outputs of kRows rows: all dot products side by side, so that every load is used often.
template <int64_t kRows, int64_t kOut>
S2S_BODY void tile(const FewRows& job, int64_t row, int64_t out) {
  const float* const x = job.x + row * job.inner;
  const float* const weight = job.weight + out * job.inner;
  Lanes sums[kRows][kOut] = {};
  int64_t k = 0;
  for (; k + kLanes <= job.inner; k += kLanes) {
    Lanes taken[kOut];
    for (int64_t n = 0; n < kOut; ++n) {
      const float* const from = weight + n * job.inner + k;
      if (kRows > 1) __builtin_prefetch(from + kOut * job.inner);  // the next outputs' weights
      taken[n] = load_lanes(from);
    }
    for (int64_t m = 0; m < kRows; ++m) {
      const Lanes given = load_lanes(x + m * job.inner + k);
      for (int64_t n = 0; n < kOut; ++n) sums[m][n] += given * taken[n];
    }
  }
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kOut; ++n) {
      float sum = total(sums[m][n]) + (job.bias == nullptr ? 0.0F : job.bias[out + n]);
      for (int64_t j = k; j < job.inner; ++j) {
        sum += x[m * job.inner + j] * weight[n * job.inner + j];
      }
      job.y[(row + m) * job.outer + out + n] = sum;
    }
  }
}

template <int64_t kOut>
S2S_BODY void tiles(const FewRows& job, int64_t out) {
  int64_t row = 0;
  for (; row + 4 <= job.num_rows; row += 4) tile<4, kOut>(job, row, out);
  for (; row < job.num_rows; ++row) tile<1, kOut>(job, row, out);
}

struct Body {
  static S2S_BODY void run(const FewRows& job, int64_t begin, int64_t end) {
    int64_t out = begin;
    for (; out + 4 <= end; out += 4) tiles<4>(job, out);
    for (; out < end; ++out) tiles<1>(job, out);
  }
};

}  // namespace

void run(const FewRows& job, int64_t begin, int64_t end) { run_best<Body>(job, begin, end); }

}  // namespace s2s::rows
