#include "nn/kernels/decode_attention.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

TEST_CASE_TEMPLATE("one query over a longer cache equals scaled dot product attention", Number,
                   float, at::BFloat16) {
  at::manual_seed(5);
  const at::ScalarType type = c10::CppTypeToScalarType<Number>::value;
  const double tolerance = type == at::kFloat ? 1e-5 : 0.02;
  for (const auto& [kv_heads, shared, dim] : std::vector<std::array<int64_t, 3>>{
           {8, 1, 64}, {2, 4, 32}, {1, 3, s2s::rows::kDimStep<Number>}, {3, 2, 256}}) {
    CAPTURE(dim);
    const int64_t rows = 2, capacity = 50, positions = 37;
    const at::Tensor q = at::randn({rows, kv_heads * shared, dim}).mul(3).to(type);
    const auto cache = [&] {
      return at::randn({rows, kv_heads, capacity, dim}).to(type).narrow(2, 0, positions);
    };
    const at::Tensor k = cache(), v = cache(), y = at::empty_like(q);
    const s2s::rows::OneQuery<Number> job{
        q.const_data_ptr<Number>(),
        k.const_data_ptr<Number>(),
        v.const_data_ptr<Number>(),
        y.mutable_data_ptr<Number>(),
        kv_heads,
        shared,
        positions,
        dim,
        k.stride(0),
        k.stride(1),
        static_cast<float>(1 / std::sqrt(static_cast<double>(dim)))};
    s2s::rows::run(job, 0, rows * kv_heads);
    const at::Tensor expected = at::scaled_dot_product_attention(
        q.to(at::kFloat).view({rows, kv_heads, shared, dim}), k.to(at::kFloat), v.to(at::kFloat));
    CHECK((y.view_as(expected) - expected).abs().max().item<double>() < tolerance);
  }
}
