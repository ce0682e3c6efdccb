// The text of gated.cu, run on CPU threads, against float64.

#include <doctest/doctest.h>

#include <iostream>

#include "kernels_cuda/gated_variants.h"
#include "kernels_cuda/largest.h"
#include "plain_gated.h"

namespace {

using s2s::cuda::GatedCase;
using s2s::cuda::GatedPlan;
using s2s::test::data_of;
using s2s::test::largest;
using s2s::test::run_on_threads;

constexpr int64_t kGatedRows = 13;

struct GatedPass {
  at::Tensor y, d_gate, d_up;
  int64_t forward_bytes = 0, backward_bytes = 0;
};

struct GatedInputs {
  at::Tensor gate, up, dy;
};

/// packed: gate and up are halves of the same rows.
GatedInputs draw_gated(const GatedCase& gated, bool is_packed) {
  at::manual_seed(static_cast<uint64_t>(gated.dim));
  const at::Tensor both = (at::randn({kGatedRows, 2 * gated.dim}) * 3).to(gated.type);
  const auto halves = both.chunk(2, -1);
  const at::Tensor dy = at::randn({kGatedRows, gated.dim}).to(gated.type);
  if (is_packed) return {halves[0], halves[1], dy};
  return {halves[0].contiguous(), halves[1].contiguous(), dy};
}

/// In float64, by autograd.
GatedPass exact_gated(const GatedCase& gated, const GatedInputs& in) {
  const auto wide = [](const at::Tensor& tensor) {
    return tensor.to(at::kDouble).detach().clone().set_requires_grad(true);
  };
  const at::Tensor gate = wide(in.gate), up = wide(in.up);
  const at::Tensor y = (gated.is_silu ? at::silu(gate) : at::gelu(gate, "tanh")) * up;
  (y * in.dy.to(at::kDouble)).sum().backward();
  return {y.detach(), gate.grad(), up.grad()};
}

template <class X, class Forward, class Backward>
GatedPass run_gated(const GatedCase& gated, const GatedPlan& plan, const GatedInputs& in,
                    const Forward& forward, const Backward& backward) {
  GatedPass out;
  out.y = at::full_like(in.dy, NAN);
  // Gradients lie as the inputs do.
  const bool is_packed = in.gate.stride(0) != gated.dim;
  const at::Tensor grads = at::full({kGatedRows, 2 * gated.dim}, NAN).to(gated.type);
  out.d_gate = is_packed ? grads.chunk(2, -1)[0] : at::full_like(in.dy, NAN);
  out.d_up = is_packed ? grads.chunk(2, -1)[1] : at::full_like(in.dy, NAN);
  const int64_t count = in.dy.numel() / plan.elements_per_load;
  const auto threads = static_cast<unsigned>(plan.threads);
  const auto blocks = static_cast<unsigned>((count + plan.threads - 1) / plan.threads);
  const auto p = [](const at::Tensor& tensor) { return data_of<X>(tensor); };
  out.forward_bytes = run_on_threads(blocks, threads, 1, [&] {
    forward(p(in.gate), p(in.up), p(out.y), in.gate.stride(0), count);
  });
  out.backward_bytes = run_on_threads(blocks, threads, 1, [&] {
    backward(p(in.dy), p(in.gate), p(in.up), p(out.d_gate), p(out.d_up), in.gate.stride(0),
             out.d_gate.stride(0), count);
  });
  return out;
}

void check_gated(const GatedCase& gated, const GatedPass& ours, const GatedPass& wanted,
                 const char* name) {
  const double tolerance = gated.type == at::kFloat ? 2e-6 : gated.type == at::kHalf ? 1e-3 : 8e-3;
  CHECK(largest(ours.y, wanted.y) < tolerance);
  CHECK(largest(ours.d_gate, wanted.d_gate) < tolerance);
  CHECK(largest(ours.d_up, wanted.d_up) < tolerance);
  const auto size = static_cast<int64_t>(c10::elementSize(gated.type));
  CHECK(ours.forward_bytes == 3 * size * kGatedRows * gated.dim);
  CHECK(ours.backward_bytes == 5 * size * kGatedRows * gated.dim);
  std::cout << name << ": bytes an element, forward "
            << ours.forward_bytes / (kGatedRows * gated.dim) << " (at least " << 3 * size
            << "), backward " << ours.backward_bytes / (kGatedRows * gated.dim) << " (at least "
            << 5 * size << ")\n";
}

#define CHECK_GATED(variant, ...)                                                                 \
  do {                                                                                            \
    const GatedCase gated = {__VA_ARGS__};                                                        \
    CAPTURE(std::string(#variant));                                                               \
    CHECK((variant::kPlan == s2s::cuda::plan_gated(gated)));                                      \
    for (const bool is_packed : {false, true}) {                                                  \
      const GatedInputs in = draw_gated(gated, is_packed);                                        \
      const GatedPass ours = run_gated<variant::X>(gated, variant::kPlan, in, variant::s2s_gated, \
                                                   variant::s2s_gated_backward);                  \
      check_gated(gated, ours, exact_gated(gated, in), #variant);                                 \
    }                                                                                             \
  } while (false)

}  // namespace

TEST_CASE("the text of gated.cu equals float64, forward and backward, whole and in halves") {
  CHECK_GATED(silu_float_40, 40, at::kFloat);
  CHECK_GATED(silu_bfloat16_72, 72, at::kBFloat16);
  CHECK_GATED(gelu_bfloat16_72, 72, at::kBFloat16, false);
  CHECK_GATED(gelu_float_37, 37, at::kFloat, false);
  CHECK_GATED(silu_float16_29, 29, at::kHalf);
}

TEST_CASE("the text of gated.cu stays finite far from zero") {
  const GatedCase gated = {40, at::kFloat};
  GatedInputs in = draw_gated(gated, false);
  in.gate = at::linspace(-300, 300, in.gate.numel()).view_as(in.gate);
  const GatedPass ours = run_gated<silu_float_40::X>(
      gated, silu_float_40::kPlan, in, silu_float_40::s2s_gated, silu_float_40::s2s_gated_backward);
  const GatedPass wanted = exact_gated(gated, in);
  CHECK(largest(ours.y, wanted.y) < 1e-6);
  CHECK(largest(ours.d_gate, wanted.d_gate) < 1e-6);
  CHECK(largest(ours.d_up, wanted.d_up) < 1e-6);
}

TEST_CASE("a gate's plan reads 16 bytes where rows consist of them") {
  using s2s::cuda::plan_gated;
  CHECK(plan_gated({5632, at::kBFloat16})->elements_per_load == 8);
  CHECK(plan_gated({5632, at::kFloat})->elements_per_load == 4);
  CHECK(plan_gated({5636, at::kBFloat16})->elements_per_load == 1);
  CHECK(plan_gated({5632, at::kHalf, true, false})->elements_per_load == 1);
  CHECK_FALSE(plan_gated({64, at::kDouble}).has_value());
  CHECK_FALSE(plan_gated({0, at::kFloat}).has_value());
}

TEST_CASE("the gate's formulas without a kernel equal autograd in float64") {
  for (const bool is_silu : {false, true}) {
    const GatedCase gated = {33, at::kDouble, is_silu};
    const GatedInputs in = draw_gated(gated, true);
    const GatedPass wanted = exact_gated(gated, in);
    CHECK(largest(s2s::cuda::plain_gated(in.gate, in.up, is_silu), wanted.y) < 1e-12);
    const at::Tensor d_gate = at::full_like(in.dy, NAN), d_up = at::full_like(in.dy, NAN);
    s2s::cuda::plain_gated_backward(in.dy, in.gate, in.up, is_silu, d_gate, d_up);
    CHECK(largest(d_gate, wanted.d_gate) < 1e-12);
    CHECK(largest(d_up, wanted.d_up) < 1e-12);
  }
}
