// The text of rotation.cu, run on CPU threads, against float64.

#include <doctest/doctest.h>

#include <iostream>

#include "kernels_cuda/largest.h"
#include "kernels_cuda/rotation_variants.h"
#include "plain_rotation.h"

namespace {

using s2s::cuda::RotationCase;
using s2s::cuda::RotationPlan;
using s2s::test::data_of;
using s2s::test::largest;
using s2s::test::run_on_threads;

constexpr int64_t kBatch = 2;
constexpr int64_t kFrames = 5;

struct Tables {
  at::Tensor cos, sin;
};

/// Rows in the middle of a longer table, as for positions after a prompt.
Tables draw_tables(int64_t dim) {
  const at::Tensor half = at::rand({kFrames + 3, dim / 2}) * 6;
  const at::Tensor angles = at::cat({half, half}, 1);
  return {angles.cos().narrow(0, 3, kFrames), angles.sin().narrow(0, 3, kFrames)};
}

at::Tensor exact_rotation(const at::Tensor& x, const Tables& tables, bool is_inverse) {
  return s2s::cuda::plain_rotation(x.to(at::kDouble), tables.cos.to(at::kDouble),
                                   tables.sin.to(at::kDouble), is_inverse);
}

at::Tensor draw_heads(const RotationCase& rotation, int64_t heads) {
  return at::randn({kBatch, kFrames, heads, rotation.dim}).to(rotation.type);
}

template <class Heads>
Heads part_of(const at::Tensor& from, const at::Tensor& to) {
  if (!from.defined()) return {};
  using X = std::remove_pointer_t<decltype(Heads::to)>;
  return {data_of<X>(from), data_of<X>(to), from.stride(0), from.stride(1),
          from.stride(2),   to.stride(1),   to.stride(2)};
}

/// q, k, v: from and to.
using HeadsMove = std::pair<at::Tensor, at::Tensor>;

template <class Heads, class Kernel>
int64_t run_rotation(const RotationPlan& plan, const Kernel& kernel, const HeadsMove& q,
                     const HeadsMove& k, const HeadsMove& v, const Tables& tables,
                     bool is_inverse) {
  const auto threads = static_cast<unsigned>(plan.threads);
  return run_on_threads(kBatch * kFrames, threads, 1, [&] {
    kernel(part_of<Heads>(q.first, q.second), part_of<Heads>(k.first, k.second),
           part_of<Heads>(v.first, v.second), data_of<float>(tables.cos),
           data_of<float>(tables.sin), static_cast<unsigned>(kFrames), is_inverse ? -1.0F : 1.0F);
  });
}

double tolerance_of(const RotationCase& rotation) {
  return rotation.type == at::kFloat ? 1e-6 : rotation.type == at::kHalf ? 1e-3 : 8e-3;
}

/// Heads of one packed tensor are rotated in place; those with transposed rows go elsewhere.
template <class Heads, class Kernel>
void check_rotation(const RotationCase& rotation, const RotationPlan& plan, const Kernel& kernel,
                    const char* name) {
  const Tables tables = draw_tables(rotation.dim);
  const int64_t heads = rotation.q_heads + rotation.k_heads;
  const at::Tensor packed = draw_heads(rotation, heads + rotation.k_heads);
  const at::Tensor before = packed.clone();
  const at::Tensor q = packed.narrow(2, 0, rotation.q_heads);
  const at::Tensor k = packed.narrow(2, rotation.q_heads, rotation.k_heads);
  const int64_t bytes = run_rotation<Heads>(plan, kernel, {q, q}, {k, k}, {}, tables, false);
  const at::Tensor rotated = exact_rotation(before.narrow(2, 0, heads), tables, false);
  CHECK(largest(packed.narrow(2, 0, heads), rotated) < tolerance_of(rotation));
  const at::Tensor values = packed.narrow(2, heads, rotation.k_heads);
  CHECK(values.equal(before.narrow(2, heads, rotation.k_heads)));
  const auto size = static_cast<int64_t>(c10::elementSize(rotation.type));
  const int64_t elements = kBatch * kFrames * heads * rotation.dim;
  CHECK(bytes == 2 * size * elements);
  std::cout << name << ": bytes an element " << bytes / elements << " (at least " << 2 * size
            << ")\n";

  const at::Tensor q_BHTD = draw_heads(rotation, rotation.q_heads).transpose(1, 2).contiguous();
  const at::Tensor from = q_BHTD.transpose(1, 2);
  const at::Tensor to = at::full(from.sizes(), NAN).to(rotation.type);
  const at::Tensor k_from = draw_heads(rotation, rotation.k_heads);
  const at::Tensor k_to = at::full(k_from.sizes(), NAN).to(rotation.type);
  run_rotation<Heads>(plan, kernel, {from, to}, {k_from, k_to}, {}, tables, true);
  CHECK(largest(to, exact_rotation(from, tables, true)) < tolerance_of(rotation));
  CHECK(largest(k_to, exact_rotation(k_from, tables, true)) < tolerance_of(rotation));
}

/// Three gradients, each with strides of its own, become one tensor.
template <class Heads, class Kernel>
void check_packing(const RotationCase& rotation, const RotationPlan& plan, const Kernel& kernel) {
  const Tables tables = draw_tables(rotation.dim);
  const int64_t heads = rotation.q_heads + rotation.k_heads;
  const at::Tensor grads =
      at::full({kBatch, kFrames, heads + rotation.v_heads, rotation.dim}, NAN).to(rotation.type);
  const at::Tensor dq =
      draw_heads(rotation, rotation.q_heads).transpose(1, 2).contiguous().transpose(1, 2);
  const at::Tensor dk = draw_heads(rotation, rotation.k_heads);
  const at::Tensor dv = draw_heads(rotation, 2 * rotation.v_heads).narrow(2, 0, rotation.v_heads);
  run_rotation<Heads>(plan, kernel, {dq, grads.narrow(2, 0, rotation.q_heads)},
                      {dk, grads.narrow(2, rotation.q_heads, rotation.k_heads)},
                      {dv, grads.narrow(2, heads, rotation.v_heads)}, tables, true);
  const at::Tensor wanted = at::cat(
      {exact_rotation(dq, tables, true), exact_rotation(dk, tables, true), dv.to(at::kDouble)}, 2);
  CHECK(largest(grads, wanted) < tolerance_of(rotation));
}

#define CHECK_ROTATION(variant, packed, ...)                                                 \
  do {                                                                                       \
    const RotationCase rotation = {__VA_ARGS__};                                             \
    RotationCase with_values = rotation;                                                     \
    with_values.v_heads = rotation.k_heads;                                                  \
    CAPTURE(std::string(#variant));                                                          \
    CHECK((variant::kPlan == s2s::cuda::plan_rotation(rotation)));                           \
    CHECK((packed::kPlan == s2s::cuda::plan_rotation(with_values)));                         \
    check_rotation<variant::Heads>(rotation, variant::kPlan, variant::s2s_rotate, #variant); \
    check_packing<packed::Heads>(with_values, packed::kPlan, packed::s2s_rotate);            \
  } while (false)

}  // namespace

TEST_CASE("the text of rotation.cu equals float64, in place, strided, back and packed") {
  at::manual_seed(8);
  CHECK_ROTATION(bfloat16_64, bfloat16_64_packed, 64, at::kBFloat16, 4, 2);
  CHECK_ROTATION(float_24, float_24_packed, 24, at::kFloat, 3, 3);
  CHECK_ROTATION(float16_6, float16_6_packed, 6, at::kHalf, 5, 1);
}

TEST_CASE("a rotation's plan gives a position to one block") {
  using s2s::cuda::plan_rotation;
  CHECK((plan_rotation({64, at::kBFloat16, 32, 4}) == RotationPlan{8, 160}));
  CHECK((plan_rotation({128, at::kBFloat16, 32, 8}) == RotationPlan{8, 320}));
  CHECK((plan_rotation({128, at::kBFloat16, 64, 8}) == RotationPlan{8, 512}));
  CHECK((plan_rotation({64, at::kBFloat16, 32, 4, 0, false}) == RotationPlan{1, 512}));
  CHECK(plan_rotation({20, at::kBFloat16, 1, 1})->elements_per_load == 1);  // half of 10
  CHECK_FALSE(plan_rotation({7, at::kFloat, 1, 1}).has_value());
  CHECK_FALSE(plan_rotation({64, at::kDouble, 1, 1}).has_value());
}

TEST_CASE("the rotation's formula without a kernel turns pairs, and turns them back") {
  const at::Tensor x = at::tensor({1.0, 0.0, 0.0, 1.0}, at::kDouble).view({1, 1, 1, 4});
  const at::Tensor angles = at::tensor({0.3, 0.5, 0.3, 0.5}, at::kDouble).view({1, 4});
  const at::Tensor y = s2s::cuda::plain_rotation(x, angles.cos(), angles.sin(), false);
  const at::Tensor wanted =
      at::tensor({std::cos(0.3), -std::sin(0.5), std::sin(0.3), std::cos(0.5)}, at::kDouble);
  CHECK(largest(y.flatten(), wanted) < 1e-15);
  CHECK(largest(s2s::cuda::plain_rotation(y, angles.cos(), angles.sin(), true), x) < 1e-15);
}
