// The kernels' own text, run on CPU threads, against float64.

#include <doctest/doctest.h>

#include <iostream>

#include "kernels_cuda/largest.h"
#include "kernels_cuda/norm_variants.h"
#include "norm_plan.h"
#include "plain_norm.h"

namespace {

using s2s::cuda::NormCase;
using s2s::cuda::NormPlan;
using s2s::test::data_of;
using s2s::test::largest;
using s2s::test::run_on_threads;

constexpr double kEps = 1e-5;
constexpr unsigned kRows = 11;  // no multiple of a block's

/// x + y, its norm, 1 / rms; then dx, dy where it is not dx, dweight.
struct Result {
  at::Tensor sum, normed, inv_rms, dx, dy, d_weight;
  int64_t forward_bytes = 0, backward_bytes = 0;
};

struct Inputs {
  at::Tensor x, y, weight, d_sum, d_normed;
};

Inputs draw(const NormCase& norm) {
  at::manual_seed(static_cast<uint64_t>(norm.dim));
  const auto rows = [&](at::ScalarType type) { return at::randn({kRows, norm.dim}).to(type); };
  Inputs in = {rows(norm.type), rows(norm.y()), (at::randn({norm.dim}) * 0.3).to(norm.weight()),
               rows(norm.type), rows(norm.out())};
  if (!norm.adds_one) in.weight = in.weight + 1;
  return in;
}

/// In float64, by autograd.
Result exact(const NormCase& norm, const Inputs& in) {
  const auto wide = [](const at::Tensor& tensor) {
    return tensor.to(at::kDouble).detach().clone().set_requires_grad(true);
  };
  const at::Tensor x = wide(in.x);
  const at::Tensor weight = wide(in.weight);
  // What the next layer gets is rounded to the type; the norm is of the rounded sum.
  const at::Tensor added =
      norm.adds ? (in.x + in.y).to(at::kDouble) - in.x.to(at::kDouble) : at::zeros_like(x);
  const at::Tensor sum = x + added;
  const at::Tensor inv_rms = at::rsqrt(sum.square().mean(-1, true) + kEps);
  const at::Tensor normed = sum * inv_rms * (norm.adds_one ? 1 + weight : weight);
  at::Tensor total = (normed * in.d_normed.to(at::kDouble)).sum();
  if (norm.adds) total = total + (sum * in.d_sum.to(at::kDouble)).sum();
  total.backward();
  return {sum.detach(), normed.detach(), inv_rms.detach().reshape(-1),
          x.grad(),     x.grad(),        weight.grad()};
}

void check_close(const NormCase& norm, const Result& ours, const Result& exact) {
  const auto tolerance_of = [](at::ScalarType type) {
    return type == at::kFloat ? 5e-6 : type == at::kHalf ? 3e-3 : 2e-2;
  };
  const double tolerance = tolerance_of(norm.type);
  if (norm.adds) CHECK(largest(ours.sum, exact.sum) == 0);
  CHECK(largest(ours.normed, exact.normed) < tolerance);
  CHECK(largest(ours.inv_rms, exact.inv_rms) < 1e-6);
  CHECK(largest(ours.dx, exact.dx) < tolerance);
  if (ours.dy.defined()) CHECK(largest(ours.dy, exact.dy) < tolerance_of(norm.y()));
  CHECK(largest(ours.d_weight, exact.d_weight) < tolerance);
}

/// The kernels move each element once; what a row adds is 1 / rms.
void check_bytes(const NormCase& norm, const Result& ours, const char* name) {
  const auto size = [](at::ScalarType type) {
    return static_cast<int64_t>(c10::elementSize(type));
  };
  const int64_t x = size(norm.type), y = size(norm.y()), out = size(norm.out());
  const int64_t own_dy = norm.adds && norm.y() != norm.type ? y : 0;
  const int64_t forward = norm.adds ? x + y + x + out : x + out;
  const int64_t backward = (norm.adds ? x : 0) + out + x + x + own_dy;
  CHECK(ours.forward_bytes == kRows * (norm.dim * forward + 4));
  CHECK(ours.backward_bytes == kRows * (norm.dim * backward + 4));
  const double elements = static_cast<double>(kRows) * static_cast<double>(norm.dim);
  std::cout << name << ": bytes an element, forward "
            << static_cast<double>(ours.forward_bytes) / elements << " (at least " << forward
            << "), backward " << static_cast<double>(ours.backward_bytes) / elements
            << " (at least " << backward << ")\n";
}

/// Every element of a result is written: they begin as NaN.
at::Tensor poisoned(const at::Tensor& like, at::ScalarType type) {
  return at::full_like(like, NAN, like.options().dtype(type));
}

/// The types of a variant's pointers.
template <class X, class Y, class Weight, class Out>
struct Pointers {
  static X* x(const at::Tensor& tensor) { return data_of<X>(tensor); }
  static Y* y(const at::Tensor& tensor) { return data_of<Y>(tensor); }
  static Weight* weight(const at::Tensor& tensor) { return data_of<Weight>(tensor); }
  static Out* out(const at::Tensor& tensor) { return data_of<Out>(tensor); }
};

template <class P, class Forward, class Backward>
Result run(const NormCase& norm, const NormPlan& plan, const Inputs& in, const Forward& forward,
           const Backward& backward) {
  const auto lanes = static_cast<unsigned>(plan.lanes);
  const auto rows = static_cast<unsigned>(plan.rows);
  Result out;
  out.sum = norm.adds ? poisoned(in.x, norm.type) : in.x;
  out.normed = poisoned(in.x, norm.out());
  out.inv_rms = at::full({kRows}, NAN, at::kFloat);
  out.dx = poisoned(in.x, norm.type);
  if (norm.adds && norm.y() != norm.type) out.dy = poisoned(in.x, norm.y());
  out.forward_bytes = run_on_threads((kRows + rows - 1U) / rows, lanes, rows, [&] {
    forward(P::x(in.x), P::y(in.y), P::weight(in.weight), P::x(out.sum), P::out(out.normed),
            data_of<float>(out.inv_rms), kRows, static_cast<float>(kEps));
  });
  const unsigned blocks = rows >= 8 ? 1 : 2;  // fewer than rows: some groups go round
  const at::Tensor parts = at::full({blocks * plan.rows, norm.dim}, NAN, at::kFloat);
  out.backward_bytes = run_on_threads(blocks, lanes, rows, [&] {
    backward(P::x(in.d_sum), P::out(in.d_normed), P::x(out.sum), P::weight(in.weight),
             data_of<float>(out.inv_rms), P::x(out.dx), out.dy.defined() ? P::y(out.dy) : nullptr,
             data_of<float>(parts), kRows);
  });
  out.d_weight = parts.sum(0);
  return out;
}

#define CHECK_VARIANT(variant, ...)                                                              \
  do {                                                                                           \
    const NormCase norm = {__VA_ARGS__};                                                         \
    CAPTURE(std::string(#variant));                                                              \
    const Inputs in = draw(norm);                                                                \
    using P = Pointers<variant::X, variant::Y, variant::Weight, variant::Out>;                   \
    const Result ours =                                                                          \
        run<P>(norm, variant::kPlan, in, variant::s2s_rms_norm, variant::s2s_rms_norm_backward); \
    check_close(norm, ours, exact(norm, in));                                                    \
    check_bytes(norm, ours, #variant);                                                           \
  } while (false)

}  // namespace

TEST_CASE("the kernels' text equals the norm in float64, forward and backward") {
  CHECK_VARIANT(float_96, 96, at::kFloat, false, false);
  CHECK_VARIANT(bfloat16_1040, 1040, at::kBFloat16, true, false);
  CHECK_VARIANT(bfloat16_512_one, 512, at::kBFloat16, true, true);
  CHECK_VARIANT(float16_2048, 2048, at::kHalf, true, false);
  CHECK_VARIANT(bfloat16_70, 70, at::kBFloat16, false, false);  // no multiple of 8: one at a time
  CHECK((float_96::kPlan == s2s::cuda::plan_norm({96, at::kFloat})));
  CHECK((bfloat16_1040::kPlan == s2s::cuda::plan_norm({1040, at::kBFloat16})));
  CHECK((bfloat16_512_one::kPlan == s2s::cuda::plan_norm({512, at::kBFloat16})));
  CHECK((float16_2048::kPlan == s2s::cuda::plan_norm({2048, at::kHalf})));
  CHECK((bfloat16_70::kPlan == s2s::cuda::plan_norm({70, at::kBFloat16})));
  // As rows that are too long for one access of each thread, with fewer threads.
  CHECK_VARIANT(bfloat16_two_loads, 440, at::kBFloat16, true, false);
  CHECK_VARIANT(float_two_loads, 360, at::kFloat, false, true);
}

TEST_CASE("the kernels' text takes a sum and a weight of another dtype, as under autocast") {
  CHECK_VARIANT(float_and_bfloat16, 516, at::kFloat, true, false, true, at::kBFloat16);
  CHECK_VARIANT(float_and_bfloat16_one, 200, at::kFloat, true, true, true, at::kBFloat16);
  CHECK((float_and_bfloat16::kPlan ==
         s2s::cuda::plan_norm({516, at::kFloat, true, false, true, at::kBFloat16})));
  CHECK_VARIANT(bfloat16_and_float, 136, at::kBFloat16, false, false, true, {}, at::kFloat);
  CHECK_VARIANT(bfloat16_and_float_one, 136, at::kBFloat16, false, true, true, {}, at::kFloat);
  CHECK((bfloat16_and_float::kPlan ==
         s2s::cuda::plan_norm({136, at::kBFloat16, false, false, true, {}, at::kFloat})));
}

TEST_CASE("a norm's plan has a block that a device can run, or there is none") {
  using s2s::cuda::plan_norm;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (int64_t dim = 1; dim <= 20000; dim += dim < 300 ? 1 : 97) {
      for (const bool is_aligned : {true, false}) {
        const auto plan = plan_norm({dim, type, true, false, is_aligned});
        if (!plan) {
          CHECK(dim > 2048);
          continue;
        }
        CHECK(plan->threads() <= 1024);
        CHECK(plan->threads() % 32 == 0);
        CHECK(plan->lanes * plan->elements_per_load * 2 >= dim);
        CHECK(dim % plan->elements_per_load == 0);
        CHECK((is_aligned || plan->elements_per_load == 1));
      }
    }
  }
  CHECK(plan_norm({16384, at::kBFloat16}).has_value());
  CHECK(plan_norm({8192, at::kFloat}).has_value());
  CHECK_FALSE(plan_norm({16392, at::kBFloat16}).has_value());
  CHECK_FALSE(plan_norm({64, at::kDouble}).has_value());
  CHECK_FALSE(plan_norm({0, at::kFloat}).has_value());
}

TEST_CASE("the formulas without a kernel equal autograd in float64") {
  for (const bool adds_one : {false, true}) {
    const NormCase norm = {33, at::kDouble, false, adds_one};
    const Inputs in = draw(norm);
    const Result wanted = exact(norm, in);
    const auto [y, inv_rms] = s2s::cuda::plain_rms_norm(in.x, in.weight, kEps, adds_one);
    CHECK(largest(y, wanted.normed) < 1e-12);
    const auto [dx, d_weight] =
        s2s::cuda::plain_rms_norm_backward(in.d_normed, in.x, in.weight, inv_rms, adds_one);
    CHECK(largest(dx, wanted.dx) < 1e-12);
    CHECK(largest(d_weight, wanted.d_weight) < 1e-12);
  }
}
