#include "s2s/parallel/gradients.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

TEST_CASE("a gradient norm does not depend on how gradients are cut, however large they are") {
  at::manual_seed(1);
  const at::Tensor large = at::randn({1 << 11, (1 << 11) + 3});  // more than whole rows
  const at::Tensor small = at::randn({7});
  const double exact = std::sqrt(large.to(at::kDouble).square().sum().item<double>() +
                                 small.to(at::kDouble).square().sum().item<double>());
  const auto error = [&](const std::vector<at::Tensor>& gradients) {
    return std::abs(s2s::gradient_norm(gradients).item<double>() / exact - 1);
  };
  CHECK(error({large, small}) < 1e-6);
  CHECK(error({large.narrow(0, 0, 900), small, large.narrow(0, 900, (1 << 11) - 900)}) < 1e-6);
  CHECK(error({small, large.t()}) < 1e-6);
  CHECK(s2s::gradient_norm({small}).item<double>() ==
        doctest::Approx(small.to(at::kDouble).norm().item<double>()));
  CHECK(s2s::gradient_norm({}).item<double>() == 0);
}
