#include "nn/kernels/affine.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/lanes.h"
#include "base/parallel_rows.h"

namespace s2s {
namespace rows {
namespace {

/// Multiplies a few rows with a large weight, as in generation. Reading the weight dominates the
/// cost, so each element is read once and nothing is repacked.
/// W, Y: both float, both bfloat16, or float and bfloat16. In the last case each weight is rounded
/// to bfloat16 when it is read, with the same result as autocast (x is already rounded).
template <class W, class Y>
struct FewRows {
  const W* x;                      // [M, K]
  const W* weight;                 // [N, K]
  const float* bias;               // [N] or null
  Y* y;                            // [M, N]
  int64_t num_rows, inner, outer;  // M, K, N
};

template <class In, class W, class Y>
S2S_BODY Wide<W, In> load_weight(const W* from) {
  Wide<W, In> wide = load_wide<In>(from);
  if constexpr (!std::is_same_v<W, Y>) wide.parts[0] = as_bfloat16(wide.parts[0]);
  return wide;
}

/// Loads the last elements of a row, fewer than a Wide, padded with zeros.
template <class T>
struct Tail {
  T elements[Wide<T>::kElements] = {};
  S2S_BODY Tail(const T* from, int64_t count) {
    for (int64_t j = 0; j < count; ++j) elements[j] = from[j];
  }
};

template <class T, class In>
S2S_BODY void add_products(const Wide<T, In>& a, const Wide<T, In>& b, typename In::Type& sum) {
#pragma GCC unroll 2
  for (int part = 0; part < Wide<T, In>::kParts; ++part) sum += a.parts[part] * b.parts[part];
}

template <class In, int64_t kOut>
S2S_BODY void add_up(const typename In::Type (&sums)[kOut], float (&results)[kOut]) {
  if constexpr (kOut == 4) {
    const QuadLanes quad = totals(sums);
    std::memcpy(results, &quad, sizeof results);
  } else {
    for (int64_t n = 0; n < kOut; ++n) results[n] = total(sums[n]);
  }
}

/// Weights are fetched into the L2 cache so many outputs before they are used. More lines can be on
/// their way to L2 than to L1.
constexpr int64_t kOutputsAhead = 8;

/// Computes kOut outputs of kRows rows at once, so that every loaded value is used several times.
template <int64_t kRows, int64_t kOut, class In, class W, class Y>
S2S_BODY void tile(const FewRows<W, Y>& job, int64_t row, int64_t out) {
  constexpr int64_t kStep = Wide<W, In>::kElements;
  const W* const x = job.x + row * job.inner;
  const W* const weight = job.weight + out * job.inner;
  typename In::Type sums[kRows][kOut] = {};
  int64_t k = 0;
  for (; k + kStep <= job.inner; k += kStep) {
    Wide<W, In> taken[kOut];
#pragma GCC unroll 4
    for (int64_t n = 0; n < kOut; ++n) {
      const W* const from = weight + n * job.inner + k;
      __builtin_prefetch(from + kOutputsAhead * job.inner, /*rw=*/0, /*locality=*/2);
      taken[n] = load_weight<In, W, Y>(from);
    }
#pragma GCC unroll 4
    for (int64_t m = 0; m < kRows; ++m) {
      const Wide<W, In> given = load_wide<In>(x + m * job.inner + k);
#pragma GCC unroll 4
      for (int64_t n = 0; n < kOut; ++n) add_products(given, taken[n], sums[m][n]);
    }
  }
  const int64_t rest = job.inner - k;
  for (int64_t n = 0; rest > 0 && n < kOut; ++n) {
    const Tail<W> weight_tail(weight + n * job.inner + k, rest);
    const Wide<W, In> taken = load_weight<In, W, Y>(weight_tail.elements);
    for (int64_t m = 0; m < kRows; ++m) {
      const Tail<W> x_tail(x + m * job.inner + k, rest);
      add_products(load_wide<In>(x_tail.elements), taken, sums[m][n]);
    }
  }
  for (int64_t m = 0; m < kRows; ++m) {
    float results[kOut];
    add_up<In>(sums[m], results);
    for (int64_t n = 0; n < kOut; ++n) {
      const float bias = job.bias == nullptr ? 0.0F : job.bias[out + n];
      store(results[n] + bias, job.y[(row + m) * job.outer + out + n]);
    }
  }
}

template <int64_t kRows, int64_t kOut, class In, class W, class Y>
S2S_BODY void tiles(const FewRows<W, Y>& job, int64_t out) {
  int64_t row = 0;
  for (; row + kRows <= job.num_rows; row += kRows) tile<kRows, kOut, In>(job, row, out);
  for (; row < job.num_rows; ++row) tile<1, kOut, In>(job, row, out);
}

/// Tiles of kSide x kSide sums. They should fit into registers.
template <int64_t kSide, class In>
struct FewRowsBody {
  template <class W, class Y>
  static S2S_BODY void run(const FewRows<W, Y>& job, int64_t begin, int64_t end) {
    int64_t out = begin;
    for (; out + kSide <= end; out += kSide) tiles<kSide, kSide, In>(job, out);
    for (; out < end; ++out) tiles<kSide, 1, In>(job, out);
  }
};

/// Computes outputs [begin, end) of every row. Sums are in float.
template <class W, class Y>
void run(const FewRows<W, Y>& job, int64_t begin, int64_t end) {
  run_best<FewRowsBody<4, InLanes>, FewRowsBody<2, InPairs>>(job, begin, end);
}

}  // namespace
}  // namespace rows

namespace {

bool wants_gradient(const at::Tensor& x) { return x.defined() && x.requires_grad(); }

/// Returns true in generation: few rows, and no gradient needed.
bool is_small_gemm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  constexpr int64_t kMostRows = 16;
  for (const at::Tensor& t : {x, weight, bias}) {
    if (t.defined() && (!t.is_cpu() || t.layout() != at::kStrided)) return false;
  }
  if (at::GradMode::is_enabled() &&
      (wants_gradient(x) || wants_gradient(weight) || wants_gradient(bias))) {
    return false;
  }
  const int64_t num_rows = x.numel() / std::max<int64_t>(1, x.size(-1));
  return num_rows > 0 && num_rows <= kMostRows && weight.is_contiguous();
}

/// The dtype in which LibTorch would compute the product, or nothing if there is no kernel for it.
std::optional<at::ScalarType> small_gemm_type(const at::Tensor& x, const at::Tensor& weight,
                                              const at::Tensor& bias) {
  const auto is_known = [](const at::Tensor& t) {
    return !t.defined() || t.scalar_type() == at::kFloat || t.scalar_type() == at::kBFloat16;
  };
  if (!is_known(x) || !is_known(weight) || !is_known(bias)) return {};
  if (at::autocast::is_autocast_enabled(at::kCPU)) {
    if (at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16) return at::kBFloat16;
    return {};
  }
  const at::ScalarType type = weight.scalar_type();
  if (x.scalar_type() != type || (bias.defined() && bias.scalar_type() != type)) return {};
  return type;
}

/// Returns a weight as small_gemm_product reads it. Autocast caches rounded copies of trained
/// weights until its scope ends, which halves the bytes read per frame. Other weights are rounded
/// while they are read.
at::Tensor weight_to_read(const at::Tensor& weight, at::ScalarType type) {
  const bool is_kept = type == at::kBFloat16 && weight.requires_grad() && weight.is_leaf() &&
                       !weight.is_view() && at::autocast::is_autocast_cache_enabled();
  return is_kept ? at::autocast::cached_cast(type, weight, at::kCPU) : weight;
}

template <class W, class Y>
at::Tensor small_gemm_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor y = at::empty(sizes, x.options().dtype(c10::CppTypeToScalarType<Y>::value));
  const rows::FewRows<W, Y> job{x.const_data_ptr<W>(),
                                weight.const_data_ptr<W>(),
                                bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                                y.mutable_data_ptr<Y>(),
                                x.numel() / x.size(-1),
                                x.size(-1),
                                weight.size(0)};
  constexpr int64_t kOutputsPerPiece = 64;
  constexpr int64_t kBytesPerThread = 512
                                      << 10;  // reading less takes less time than waking a thread
  const int64_t piece_bytes = kOutputsPerPiece * job.inner * static_cast<int64_t>(sizeof(W));
  const int64_t pieces = (job.outer + kOutputsPerPiece - 1) / kOutputsPerPiece;
  parallel_rows(pieces, 1 + kBytesPerThread / piece_bytes, [&](int64_t begin, int64_t end) {
    rows::run(job, begin * kOutputsPerPiece, std::min(job.outer, end * kOutputsPerPiece));
  });
  return y;
}

/// `type`: the dtype to which the inputs and the result are rounded.
at::Tensor small_gemm_product(const at::Tensor& x_in, const at::Tensor& weight_in,
                              const at::Tensor& bias_in, at::ScalarType type) {
  const at::Tensor weight = weight_to_read(weight_in, type);
  const at::Tensor x = x_in.to(type).to(weight.scalar_type()).contiguous();
  const at::Tensor bias =
      bias_in.defined() ? bias_in.to(type).to(at::kFloat).contiguous() : bias_in;
  if (weight.scalar_type() == at::kBFloat16) {
    return small_gemm_of<at::BFloat16, at::BFloat16>(x, weight, bias);
  }
  return type == at::kFloat ? small_gemm_of<float, float>(x, weight, bias)
                            : small_gemm_of<float, at::BFloat16>(x, weight, bias);
}

}  // namespace

at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (is_small_gemm(x, weight, bias)) {
    const std::optional<at::ScalarType> type = small_gemm_type(x, weight, bias);
    if (type) return small_gemm_product(x, weight, bias, *type);
  }
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

}  // namespace s2s
