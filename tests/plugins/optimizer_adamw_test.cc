// Updates whose scale and skip the host has not read, against updates of scaled gradients.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/counting_allocator.h"
#include "core/train/fake_run.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/optimizer.h"

namespace {

using s2s::Config;
using s2s::GradientScale;
using s2s::Optimizer;

std::unique_ptr<Optimizer> adamw(Config config = Config::map()) {
  config["name"] = Config::scalar("adamw");
  config["weight_decay"] = Config::scalar("0.1");
  static s2s::test::BuiltPlugins plugins;
  return plugins.create<Optimizer>(config);
}

/// Two parameters, one of which is not a whole number of vectors.
struct Trained {
  Trained() {
    optimizer = adamw();
    at::manual_seed(3);
    large = at::randn({64, 3});
    small = at::randn({5});
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

constexpr int64_t kWidth = 256;
constexpr int64_t kDepth = 8;
constexpr int64_t kWeightBytes = kWidth * kWidth * 4;

/// Layers one after another. The first is used twice, as a tied table is.
class DeepModel : public s2s::test::FakeModel {
 public:
  DeepModel() : FakeModel(kWidth) {
    for (int64_t i = 0; i < kDepth; ++i) {
      layers_.push_back(std::make_unique<s2s::Linear>(kWidth, kWidth));
      register_block("layer" + std::to_string(i), *layers_.back());
    }
  }
  s2s::LossTerms training_loss(const s2s::Batch& batch, const s2s::StepContext& context) override {
    at::Tensor x = batch.source_audio_BS;
    for (const auto& layer : layers_) x = (*layer)(x).tanh();
    s2s::LossTerms terms;
    terms.total = (*layers_.front())(x).square().mean();
    if (context.step == poisoned_gradients_step) {
      terms.total = terms.total + (x * 0).square().sum().sqrt();
    }
    return terms;
  }

 private:
  std::vector<std::unique_ptr<s2s::Linear>> layers_;
};

struct DeepRun {
  std::vector<at::Tensor> weights;
  s2s::test::Recorder recorder;
  int64_t peak_bytes = 0;
};

/// Three steps.
void train_deep(bool in_backward, int64_t poisoned_step, DeepRun& out) {
  auto& memory = s2s::test::CountingAllocator::instance();
  DeepModel model;
  model.materialize(at::kCPU, at::kFloat, 3);
  model.poisoned_gradients_step = poisoned_step;
  s2s::test::FakeData data(kWidth);
  s2s::test::FakeStrategy strategy;
  s2s::test::FakeSchedule schedule;
  const std::unique_ptr<Optimizer> optimizer = adamw();
  std::vector<s2s::NamedTensor> parameters = strategy.optimizer_parameters(model);
  optimizer->attach(parameters, std::vector<double>(parameters.size(), 1.0));
  s2s::TrainerSettings settings;
  settings.max_steps = 3;
  settings.update_in_backward = in_backward;
  s2s::Trainer trainer(settings, {&model, &data, &strategy, optimizer.get(), &schedule});
  trainer.add_observer(&out.recorder);
  const int64_t before = memory.live_bytes();
  memory.forget_peak();
  trainer.run(0);
  out.peak_bytes = memory.peak_bytes() - before;
  for (const s2s::NamedTensor& p : parameters) out.weights.push_back(p.tensor->detach().clone());
}

}  // namespace

TEST_CASE("updates in the backward give the same weights, and gradients never exist together") {
  DeepRun after, during;
  train_deep(false, -1, after);
  train_deep(true, -1, during);
  REQUIRE(after.weights.size() == during.weights.size());
  for (size_t i = 0; i < after.weights.size(); ++i) {
    CHECK(after.weights[i].equal(during.weights[i]));
  }
  for (size_t step = 0; step < 3; ++step) {
    CHECK(during.recorder.steps[step].loss == after.recorder.steps[step].loss);
    CHECK(during.recorder.steps[step].grad_norm ==
          doctest::Approx(after.recorder.steps[step].grad_norm));
  }
  CHECK(after.peak_bytes > kDepth * kWeightBytes);
  CHECK(during.peak_bytes < 4 * kWeightBytes);
}

TEST_CASE("gradients that are not finite skip the updates of a backward") {
  DeepRun run;
  train_deep(true, 1, run);
  CHECK(run.recorder.skipped.size() == 1);
  CHECK(run.recorder.steps.back().skipped_steps == 1);
  for (const at::Tensor& weight : run.weights) CHECK(weight.isfinite().all().item<bool>());
}

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

TEST_CASE("norms and biases do not decay when they are excluded") {
  Config config = Config::map();
  config["exclude_norm_from_wd"] = Config::scalar("true");
  const auto optimizer = adamw(config);
  at::Tensor norm = at::ones({3}), bias = at::ones({3}), weight = at::ones({3});
  optimizer->attach({Trained::named("layers.0.Post_Norm.weight", norm),
                     Trained::named("proj.bias", bias), Trained::named("proj.weight", weight)},
                    {1, 1, 1});
  for (at::Tensor* tensor : {&norm, &bias, &weight}) {
    tensor->mutable_grad() = at::zeros_like(*tensor);
  }
  optimizer->step(0.5);
  CHECK(norm.equal(at::ones({3})));
  CHECK(bias.equal(at::ones({3})));
  CHECK(weight[0].item<double>() == doctest::Approx(1 - 0.5 * 0.1));
  CHECK(optimizer->state().size() == 9);
}
