#include "train/gradient_update.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "core/train/fake_run.h"

namespace {

using s2s::GradientUpdate;
using s2s::UpdateNumbers;
using s2s::test::device;
using s2s::test::FakeOptimizer;
using s2s::test::FakeRun;

constexpr double kLearningRate = 0.5;

/// Gradients of 3 and 4, and zeros.
void set_gradients(FakeRun& run, double factor = 1) {
  for (const s2s::NamedTensor& p : run.model.named_parameters()) {
    at::Tensor gradient = at::zeros_like(p.tensor->detach());
    if (gradient.dim() == 2) {
      gradient.view({-1})[0] = 3 * factor;
      gradient.view({-1})[1] = 4 * factor;
    }
    p.tensor->mutable_grad() = gradient;
  }
}

at::Tensor weight(FakeRun& run) {
  return run.model.named_parameters().front().tensor->detach().cpu().view({-1}).clone();
}

/// How the first two parameters changed, divided by the learning rate.
struct Change {
  double first, second, norm;
  bool is_skipped;
};

Change change_of(FakeRun& run, double max_norm, const at::Tensor& loss_scale = {}) {
  const at::Tensor before = weight(run);
  GradientUpdate update(run.model, run.strategy, run.optimizer, max_norm);
  const UpdateNumbers numbers = update.run(kLearningRate, loss_scale);
  const at::Tensor change = (before - weight(run)) / kLearningRate;
  return {change[0].item<double>(), change[1].item<double>(), numbers.grad_norm.item<double>(),
          numbers.found_inf.item<float>() == 1};
}

at::Tensor loss_scale(double value) {
  return at::full({}, value, s2s::test::on_device(at::kFloat));
}

}  // namespace

TEST_CASE("an update clips by the norm of all gradients") {
  FakeRun run;
  set_gradients(run);
  const auto check = [&](double max_norm, double factor) {
    FakeRun fresh;
    set_gradients(fresh);
    const Change change = change_of(fresh, max_norm);
    CHECK(change.norm == doctest::Approx(5));
    CHECK(change.first == doctest::Approx(3 * factor).epsilon(1e-5));
    CHECK(change.second == doctest::Approx(4 * factor).epsilon(1e-5));
    CHECK_FALSE(change.is_skipped);
  };
  check(0, 1);    // never
  check(6, 1);    // not reached
  check(1, 0.2);  // source: torch.nn.utils.clip_grad_norm_
}

TEST_CASE("an update takes the loss scale out before it clips") {
  FakeRun run;
  set_gradients(run, 1024);
  const Change change = change_of(run, 1, loss_scale(1024));
  CHECK(change.norm == doctest::Approx(5));
  CHECK(change.first == doctest::Approx(0.6).epsilon(1e-5));
  FakeRun unclipped;
  set_gradients(unclipped, 1024);
  CHECK(change_of(unclipped, 0, loss_scale(1024)).first == doctest::Approx(3).epsilon(1e-5));
}

TEST_CASE("gradients that are not finite change nothing") {
  FakeRun run;
  set_gradients(run, INFINITY);
  const Change change = change_of(run, 1);
  CHECK(change.is_skipped);
  CHECK_FALSE(std::isfinite(change.norm));
  CHECK(change.first == 0);
}

TEST_CASE("an optimizer that takes no scale of the device gets scaled gradients") {
  FakeRun run;
  FakeOptimizer plain;
  auto parameters = run.model.named_parameters();
  plain.attach(parameters, std::vector<double>(parameters.size(), 1.0));
  set_gradients(run, 8);
  const at::Tensor before = weight(run);
  GradientUpdate update(run.model, run.strategy, plain, 1);
  update.run(kLearningRate, loss_scale(8));
  CHECK((before - weight(run))[1].item<double>() == doctest::Approx(0.8 * kLearningRate));
  set_gradients(run, NAN);
  const at::Tensor kept = weight(run);
  CHECK(update.run(kLearningRate, loss_scale(8)).found_inf.item<float>() == 1);
  CHECK(weight(run).equal(kept));
}

TEST_CASE("a hold keeps the parameters, in host memory and on a device") {
  FakeRun run;
  GradientUpdate update(run.model, run.strategy, run.optimizer, 1);
  const at::Tensor before = weight(run);
  for (const double hold : {1.0, 0.0}) {
    set_gradients(run);
    update.run(kLearningRate, {}, at::full({}, hold, s2s::test::on_device(at::kFloat)));
    CHECK(weight(run).equal(before) == (hold > 0));
  }
}
