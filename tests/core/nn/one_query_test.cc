#include "nn/one_query.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

TEST_CASE("one query over a longer cache equals scaled dot product attention") {
  at::manual_seed(5);
  for (const auto& [kv_heads, shared, dim] :
       std::vector<std::array<int64_t, 3>>{{8, 1, 64}, {2, 4, 32}, {1, 3, 16}, {3, 2, 256}}) {
    CAPTURE(dim);
    const int64_t rows = 2, capacity = 50, positions = 37;
    const at::Tensor q = at::randn({rows, kv_heads * shared, dim}) * 3;
    const auto cache = [&] {
      return at::randn({rows, kv_heads, capacity, dim}).narrow(2, 0, positions);
    };
    const at::Tensor k = cache(), v = cache(), y = at::empty_like(q);
    const s2s::rows::OneQuery job{q.const_data_ptr<float>(),
                                  k.const_data_ptr<float>(),
                                  v.const_data_ptr<float>(),
                                  y.mutable_data_ptr<float>(),
                                  kv_heads,
                                  shared,
                                  positions,
                                  dim,
                                  k.stride(0),
                                  k.stride(1),
                                  static_cast<float>(1 / std::sqrt(static_cast<double>(dim)))};
    s2s::rows::run(job, 0, rows * kv_heads);
    const at::Tensor expected =
        at::scaled_dot_product_attention(q.view({rows, kv_heads, shared, dim}), k, v);
    CHECK((y.view_as(expected) - expected).abs().max().item<double>() < 1e-5);
  }
}
