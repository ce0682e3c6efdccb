#include "train/weight_average.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "core/train/fake_run.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// torch.optim.SGD, with an update that a device can skip.
class Descent : public Optimizer {
 public:
  void attach(std::vector<NamedTensor> parameters, std::vector<double>) override {
    parameters_ = std::move(parameters);
  }
  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& p : parameters_) p.tensor->add_(p.tensor->grad(), -learning_rate);
  }
  bool step_scaled(double learning_rate, const GradientScale& scale) override {
    if (scale.found_inf.item<float>() == 0) step(learning_rate);
    return true;
  }
  double base_learning_rate() const override { return 0.25; }
  TensorMap state() const override { return {}; }
  void restore(const TensorMap& state) override { CHECK(state.empty()); }

 private:
  std::vector<NamedTensor> parameters_;
};

/// One parameter, trained on the gradients of tests/reference/nemo_ema.py.
struct Averaged {
  explicit Averaged(const EmaBlock& block, at::ScalarType type = at::kFloat)
      : weights(at::tensor({1.0F, -2.0F, 0.3F, 7.0F, 0.1F}).to(type).set_requires_grad(true)),
        optimizer(std::make_unique<Descent>(), block) {
    optimizer.attach({NamedTensor{"w", &weights}}, {1.0});
  }
  void give_gradient(int64_t step) {
    weights.mutable_grad() =
        (at::tensor({0.7F, 0.11F, -1.3F, 0.01F, 3.0F}) * (step + 1)).to(weights.scalar_type());
  }
  void step(int64_t number) {
    give_gradient(number);
    optimizer.step(0.25);
  }
  at::Tensor average() const { return optimizer.state().at("w.ema"); }

  at::Tensor weights;
  AveragingOptimizer optimizer;
};

EmaBlock ema_of(double decay, int64_t every_n_steps = 1) {
  EmaBlock block;
  block.enable = true;
  block.decay = decay;
  block.every_n_steps = every_n_steps;
  return block;
}

using Row = std::vector<float>;

}  // namespace

TEST_CASE("the moving average is NeMo's, bit for bit") {
  // Printed by tests/reference/nemo_ema.py with NeMo 3.0.0.
  const std::vector<Row> every = {
      {0.982499957F, -2.00274992F, 0.332500011F, 6.99974966F, 0.0249999966F},
      {0.93174994F, -2.01072478F, 0.426750004F, 6.99902487F, -0.19250001F},
      {0.833574951F, -2.02615213F, 0.60907501F, 6.99762249F, -0.613250017F},
      {0.67521745F, -2.05103683F, 0.903167486F, 6.9953599F, -1.29192507F},
      {0.445195705F, -2.087183F, 1.33035076F, 6.99207354F, -2.27773237F}};
  const std::vector<Row> second = {
      {0.982499957F, -2.00274992F, 0.332500011F, 6.99974966F, 0.0249999966F},
      {0.982499957F, -2.00274992F, 0.332500011F, 6.99974966F, 0.0249999966F},
      {0.87924993F, -2.01897478F, 0.524250031F, 6.9982748F, -0.417500019F},
      {0.87924993F, -2.01897478F, 0.524250031F, 6.9982748F, -0.417500019F},
      {0.62882489F, -2.0583272F, 0.989325047F, 6.99469709F, -1.49074996F}};
  for (const auto& [every_n_steps, rows] : {std::pair(1, every), std::pair(2, second)}) {
    Averaged run(ema_of(0.9, every_n_steps));
    for (size_t i = 0; i < rows.size(); ++i) {
      run.step(static_cast<int64_t>(i));
      CAPTURE(every_n_steps);
      CAPTURE(i);
      CHECK(run.average().equal(at::tensor(rows[i])));
    }
  }
}

TEST_CASE("an update on a device that is skipped leaves the average as it is") {
  Averaged host(ema_of(0.9)), device(ema_of(0.9));
  const at::Tensor made = at::zeros({}), skipped = at::ones({});
  for (int64_t i = 0; i < 3; ++i) {
    host.step(i);
    device.give_gradient(i);
    CHECK(device.optimizer.step_scaled(0.25, {{}, made}));
    CHECK(device.average().equal(host.average()));
  }
  const at::Tensor before = device.average().clone();
  device.optimizer.step_scaled(0.25, {{}, skipped});
  CHECK(device.average().equal(before));
}

TEST_CASE("the average is exchanged for a validation, and the weights come back") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    Averaged run(ema_of(0.9), type);
    CHECK(!run.optimizer.swap());  // nothing is averaged yet
    run.step(0);
    run.step(1);
    const at::Tensor weights = run.weights.detach().clone(), average = run.average().clone();
    CHECK((average.scalar_type() == at::kFloat));
    CHECK(run.optimizer.swap());
    CHECK(run.weights.detach().equal(average.to(type)));
    CHECK(run.optimizer.swap());
    CHECK(run.weights.detach().equal(weights));
    CHECK(run.average().equal(average));
  }
}

TEST_CASE("a small step moves the average of weights in bfloat16") {
  Averaged run(ema_of(0.999), at::kBFloat16);
  const at::Tensor before = run.weights.detach().to(at::kFloat);
  for (int64_t i = 0; i < 3; ++i) run.step(i);
  CHECK(run.average().ne(before).sum().item<int64_t>() == 4);  // 7 - 0.0025 is 7
}

TEST_CASE("a run that goes on has the average of one that was not interrupted") {
  Averaged whole(ema_of(0.9, 2)), first(ema_of(0.9, 2)), rest(ema_of(0.9, 2));
  for (int64_t i = 0; i < 5; ++i) whole.step(i);
  for (int64_t i = 0; i < 3; ++i) first.step(i);
  const at::NoGradGuard no_grad;
  rest.weights.copy_(first.weights);
  rest.optimizer.restore(first.optimizer.state());
  for (int64_t i = 3; i < 5; ++i) rest.step(i);
  CHECK(rest.average().equal(whole.average()));
}

TEST_CASE("without averages in its state, a run begins them with its weights") {
  Averaged run(ema_of(0.5));
  const at::NoGradGuard no_grad;
  run.weights.fill_(4);
  run.optimizer.restore({});
  run.weights.mutable_grad() = at::ones({5});
  run.optimizer.step(0.25);
  CHECK(run.average().equal(at::full({5}, 3.875F)));  // of 4 and 3.75
  TensorMap other = run.optimizer.state();
  CHECK(has_averages(other));
  CHECK(without_averages(other).empty());
  other["w.ema"] = at::zeros({6});
  CHECK_THROWS_WITH_AS(run.optimizer.restore(other), doctest::Contains("another size: w.ema"),
                       Error);
}
