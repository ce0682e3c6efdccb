#include "s2s/nn/transformer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace {

TEST_CASE("heads are split and joined in order") {
  const at::Tensor x_BTF = at::arange(24, at::kFloat).view({2, 3, 4});
  const at::Tensor x_BNTD = s2s::to_heads(x_BTF, 2);
  CHECK(x_BNTD.sizes() == at::IntArrayRef({2, 2, 3, 2}));
  CHECK(x_BNTD[1][1][2].equal(x_BTF[1][2].slice(0, 2)));
  CHECK(s2s::from_heads(x_BNTD).equal(x_BTF));
}

TEST_CASE("pairs of halves are rotated by the angles of their positions") {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).view({1, 1, 1, 4}).expand({1, 1, 2, 4});
  const at::Tensor cos_TD = at::tensor({1.0f, 0.0f}).unsqueeze(1).expand({2, 4});
  const at::Tensor sin_TD = at::tensor({0.0f, 1.0f}).unsqueeze(1).expand({2, 4});
  const at::Tensor y = s2s::rotate_halves(x, cos_TD, sin_TD);
  CHECK(y[0][0][0].equal(x[0][0][0]));
  CHECK(y[0][0][1].equal(at::tensor({-3.0f, -4.0f, 1.0f, 2.0f})));
  const at::Tensor half = s2s::rotate_halves(x.to(at::kBFloat16), cos_TD, sin_TD);
  CHECK((half.scalar_type() == at::kBFloat16));
}

TEST_CASE("each row attends to its own keys, or all rows to one entry") {
  const auto scaled = [](const at::Tensor& q, const s2s::SeenKeys& keys) { return q * keys.k; };
  const at::Tensor q = at::tensor({1.0f, 2.0f}).unsqueeze(1);
  const at::Tensor three = at::full({1, 1}, 3.0f), five = at::full({1, 1}, 5.0f);
  CHECK(s2s::attend_seen(q, {{three, {}}}, scaled).flatten().equal(at::tensor({3.0f, 6.0f})));
  CHECK(s2s::attend_seen(q, {{three, {}}, {five, {}}}, scaled)
            .flatten()
            .equal(at::tensor({3.0f, 10.0f})));
}

}  // namespace
