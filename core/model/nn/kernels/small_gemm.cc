#include "nn/kernels/small_gemm.h"

#include <c10/util/BFloat16.h>

#include <type_traits>

#include "base/lanes.h"

namespace s2s::rows {
namespace {

template <class W, class Y>
S2S_BODY Wide<W> load_weight(const W* from) {
  Wide<W> wide = load_wide(from);
  if constexpr (!std::is_same_v<W, Y>) wide.parts[0] = as_bfloat16(wide.parts[0]);
  return wide;
}

/// The last elements of a row, too few for a Wide, with zeros after them.
template <class T>
struct Tail {
  T elements[Wide<T>::kElements] = {};
  S2S_BODY Tail(const T* from, int64_t count) {
    for (int64_t j = 0; j < count; ++j) elements[j] = from[j];
  }
};

template <class T>
S2S_BODY void add_products(const Wide<T>& a, const Wide<T>& b, Lanes& sum) {
  for (int part = 0; part < Wide<T>::kParts; ++part) sum += a.parts[part] * b.parts[part];
}

S2S_BODY void add_up(const Lanes (&sums)[1], float (&results)[1]) { results[0] = total(sums[0]); }
S2S_BODY void add_up(const Lanes (&sums)[4], float (&results)[4]) {
  const QuadLanes quad = totals(sums);
  std::memcpy(results, &quad, sizeof results);
}

/// kOut outputs of kRows rows: all dot products side by side, so that every load is used often.
template <int64_t kRows, int64_t kOut, class W, class Y>
S2S_BODY void tile(const FewRows<W, Y>& job, int64_t row, int64_t out) {
  constexpr int64_t kStep = Wide<W>::kElements;
  const W* const x = job.x + row * job.inner;
  const W* const weight = job.weight + out * job.inner;
  Lanes sums[kRows][kOut] = {};
  int64_t k = 0;
  for (; k + kStep <= job.inner; k += kStep) {
    Wide<W> taken[kOut];
    for (int64_t n = 0; n < kOut; ++n) {
      const W* const from = weight + n * job.inner + k;
      if (kRows > 1) __builtin_prefetch(from + kOut * job.inner);  // the next outputs' weights
      taken[n] = load_weight<W, Y>(from);
    }
    for (int64_t m = 0; m < kRows; ++m) {
      const Wide<W> given = load_wide(x + m * job.inner + k);
      for (int64_t n = 0; n < kOut; ++n) add_products(given, taken[n], sums[m][n]);
    }
  }
  const int64_t rest = job.inner - k;
  for (int64_t n = 0; rest > 0 && n < kOut; ++n) {
    const Tail<W> weight_tail(weight + n * job.inner + k, rest);
    const Wide<W> taken = load_weight<W, Y>(weight_tail.elements);
    for (int64_t m = 0; m < kRows; ++m) {
      const Tail<W> x_tail(x + m * job.inner + k, rest);
      add_products(load_wide(x_tail.elements), taken, sums[m][n]);
    }
  }
  for (int64_t m = 0; m < kRows; ++m) {
    float results[kOut];
    add_up(sums[m], results);
    for (int64_t n = 0; n < kOut; ++n) {
      const float bias = job.bias == nullptr ? 0.0F : job.bias[out + n];
      store(results[n] + bias, job.y[(row + m) * job.outer + out + n]);
    }
  }
}

template <int64_t kOut, class W, class Y>
S2S_BODY void tiles(const FewRows<W, Y>& job, int64_t out) {
  int64_t row = 0;
  for (; row + 4 <= job.num_rows; row += 4) tile<4, kOut>(job, row, out);
  for (; row < job.num_rows; ++row) tile<1, kOut>(job, row, out);
}

struct FewRowsBody {
  template <class W, class Y>
  static S2S_BODY void run(const FewRows<W, Y>& job, int64_t begin, int64_t end) {
    int64_t out = begin;
    for (; out + 4 <= end; out += 4) tiles<4>(job, out);
    for (; out < end; ++out) tiles<1>(job, out);
  }
};

}  // namespace

template <class W, class Y>
void run(const FewRows<W, Y>& job, int64_t begin, int64_t end) {
  run_best<FewRowsBody>(job, begin, end);
}

template void run(const FewRows<float, float>&, int64_t, int64_t);
template void run(const FewRows<float, c10::BFloat16>&, int64_t, int64_t);
template void run(const FewRows<c10::BFloat16, c10::BFloat16>&, int64_t, int64_t);

}  // namespace s2s::rows
