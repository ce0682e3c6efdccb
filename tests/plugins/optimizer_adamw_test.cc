// Updates whose scale and skip the host has not read, against updates of scaled gradients.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "plugins/built_plugins.h"
#include "s2s/kinds/optimizer.h"

namespace {

using s2s::Config;
using s2s::GradientScale;
using s2s::Optimizer;

/// Two parameters, one of which is not a whole number of vectors.
struct Trained {
  explicit Trained(at::ScalarType type = at::kFloat) {
    Config config = Config::map();
    config["name"] = Config::scalar("adamw");
    config["weight_decay"] = Config::scalar("0.1");
    static s2s::test::BuiltPlugins plugins;
    optimizer = plugins.create<Optimizer>(config);
    at::manual_seed(3);
    large = at::randn({64, 3}).to(type);
    small = at::randn({5}).to(type);
    optimizer->attach({named("large", large), named("small", small)}, {1, 0.5});
  }
  static s2s::NamedTensor named(const char* name, at::Tensor& tensor) {
    s2s::NamedTensor out;
    out.name = name;
    out.tensor = &tensor;
    out.sizes = tensor.sizes().vec();
    return out;
  }
  /// The same for every object that has done as many draws.
  void set_gradients(int64_t seed, double factor = 1) {
    at::manual_seed(seed);
    large.mutable_grad() = at::randn_like(large) * factor;
    small.mutable_grad() = at::randn_like(small) * factor;
  }

  at::Tensor large, small;
  std::unique_ptr<Optimizer> optimizer;
};

at::Tensor number(double value) { return at::full({}, value, at::kFloat); }

void check_same(const Trained& a, const Trained& b) {
  CHECK(a.large.equal(b.large));
  CHECK(a.small.equal(b.small));
  const s2s::TensorMap states = b.optimizer->state();
  for (const auto& [name, value] : a.optimizer->state()) {
    CAPTURE(name);
    CHECK(value.equal(states.at(name)));
  }
}

}  // namespace

TEST_CASE("adamw divides gradients as it reads them") {
  Trained plain, scaled;
  for (int64_t step = 0; step < 3; ++step) {
    plain.set_gradients(step);
    scaled.set_gradients(step, 8);  // a power of two: no rounding
    plain.optimizer->step(0.01);
    CHECK(scaled.optimizer->step_scaled(0.01, {number(8), number(0)}));
  }
  check_same(plain, scaled);
}

TEST_CASE("adamw without a divisor takes gradients as they are") {
  Trained plain, scaled;
  plain.set_gradients(1);
  scaled.set_gradients(1);
  plain.optimizer->step(0.01);
  scaled.optimizer->step_scaled(0.01, {{}, number(0)});
  check_same(plain, scaled);
}

TEST_CASE("an update of adamw that is skipped changes nothing and does not count") {
  Trained plain, skipping;
  plain.set_gradients(1);
  plain.optimizer->step(0.01);
  plain.set_gradients(2);
  plain.optimizer->step(0.01);
  skipping.set_gradients(1);
  skipping.optimizer->step_scaled(0.01, {number(1), number(0)});
  skipping.set_gradients(9, NAN);
  skipping.optimizer->step_scaled(0.01, {number(NAN), number(1)});
  CHECK(skipping.optimizer->state().at("large.step").item<float>() == 1);
  skipping.set_gradients(2);
  skipping.optimizer->step_scaled(0.01, {number(1), number(0)});
  check_same(plain, skipping);
}
