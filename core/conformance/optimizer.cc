// Optimizers and schedules.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "answers.h"
#include "s2s/error.h"

namespace s2s::conformance {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

TensorMap copy_of(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) copies[name] = tensor.detach().clone();
  return copies;
}

bool are_equal(const TensorMap& a, const TensorMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    const auto other = b.find(name);
    if (other == b.end() || !other->second.equal(tensor)) return false;
  }
  return true;
}

/// Some parameters, the same each time, and an optimizer that they are attached to.
struct Training {
  explicit Training(const MakeOptimizer& make) : optimizer(make()) {
    const std::vector<std::pair<std::string, std::vector<int64_t>>> all = {
        {"block.weight", {4, 3}},
        {"block.bias", {5}},
        {"conv.weight", {2, 3, 2}},
        {"unused.weight", {2, 2}}};
    std::vector<NamedTensor> named;
    for (const auto& [name, sizes] : all) {
      const int64_t numel = c10::multiply_integers(sizes);
      at::Tensor& tensor = parameters[name];
      tensor = at::cos(at::arange(numel, at::kFloat) + 1).view(sizes).set_requires_grad(true);
      named.push_back({name, &tensor, sizes, {}});
    }
    optimizer->attach(named, {1, 0.5, 1, 1});
    rate = optimizer->base_learning_rate() > 0 ? optimizer->base_learning_rate() : 1e-3;
  }

  void set_gradients(int64_t step, double factor = 1) {
    for (auto& [name, tensor] : parameters) {
      if (name.starts_with("unused")) continue;
      const at::Tensor place = at::arange(tensor.numel(), at::kFloat) + 7 * (step + 1);
      tensor.mutable_grad() = (at::sin(place * 1.7) * factor).view(tensor.sizes());
    }
  }
  void step(int64_t number) {
    const at::NoGradGuard no_grad;
    set_gradients(number);
    optimizer->step(rate);
  }

  TensorMap parameters;
  std::unique_ptr<Optimizer> optimizer;
  double rate = 0;
};

void ask_updates(const Training& trained, const TensorMap& before, Questions& questions) {
  for (const auto& [name, tensor] : trained.parameters) {
    questions.ask(tensor.isfinite().all().item<bool>(),
                  "after three updates, " + name + " is not finite");
    const bool is_same = tensor.equal(before.at(name));
    const bool has_gradient = !name.starts_with("unused");
    questions.ask(!(is_same && has_gradient), "three updates do not change " + name);
    questions.ask(is_same || has_gradient, "an update changes a parameter without a gradient");
  }
}

/// Goes on in another instance.
void ask_restore(const MakeOptimizer& make, Training& trained, Questions& questions) {
  const TensorMap state = copy_of(trained.optimizer->state());
  Training other(make);
  for (auto& [name, tensor] : other.parameters) {
    tensor.detach().copy_(trained.parameters.at(name).detach());
  }
  other.optimizer->restore(state);
  questions.ask(are_equal(other.optimizer->state(), state),
                "the state after `restore` is not the one that was restored");
  trained.step(3);
  other.step(3);
  questions.ask(are_equal(trained.parameters, other.parameters),
                "after `restore` in another instance, the next update is another one");
  if (state.empty()) return;
  TensorMap lacking = state;
  lacking.erase(lacking.begin());
  std::string id = "no error";
  try {
    Training(make).optimizer->restore(lacking);
  } catch (const Error& error) {
    id = error.id();
  }
  questions.ask(id == "checkpoint/optimizer",
                "a state that lacks a tensor gives " + id + ", not [checkpoint/optimizer]");
}

void ask_scaled(const MakeOptimizer& make, Questions& questions) {
  Training plain(make), scaled(make);
  const at::Tensor two = at::full({}, 2.0F);
  const TensorMap before = copy_of(scaled.parameters);
  const TensorMap state = copy_of(scaled.optimizer->state());
  const at::NoGradGuard no_grad;
  scaled.set_gradients(0, INFINITY);
  if (!scaled.optimizer->step_scaled(scaled.rate, {two, at::ones({})})) {
    questions.ask(are_equal(scaled.parameters, before),
                  "`step_scaled` returns false, but has changed parameters");
    return;
  }
  questions.ask(are_equal(scaled.parameters, before) && are_equal(scaled.optimizer->state(), state),
                "`step_scaled` with found_inf = 1 changes parameters or state");
  scaled.set_gradients(0, 2);
  scaled.optimizer->step_scaled(scaled.rate, {two, at::zeros({})});
  plain.step(0);
  for (const auto& [name, tensor] : plain.parameters) {
    questions.ask(close(scaled.parameters.at(name), tensor, 1e-5),
                  "`step_scaled` does not divide the gradients of " + name);
  }
}

}  // namespace

Answers broken_promises(const std::function<std::unique_ptr<Optimizer>()>& make) {
  Questions questions;
  Training trained(make);
  const TensorMap before = copy_of(trained.parameters);
  for (int64_t step = 0; step < 3; ++step) trained.step(step);
  ask_updates(trained, before, questions);
  ask_restore(make, trained, questions);
  ask_scaled(make, questions);
  return questions.take();
}

Answers broken_promises(const Schedule& schedule, double base_learning_rate) {
  constexpr int64_t kSteps = 200;
  Questions questions;
  std::vector<double> rates;
  for (int64_t step = 0; step < kSteps; ++step) {
    rates.push_back(schedule.learning_rate(step, base_learning_rate));
  }
  rates.push_back(schedule.learning_rate(1'000'000, base_learning_rate));
  for (const double rate : rates) {
    if (std::isfinite(rate) && rate >= 0) continue;
    questions.ask(false, "a learning rate is " + std::to_string(rate));
    break;
  }
  for (int64_t step = kSteps - 1; step >= 0; --step) {  // a resumed run begins anywhere
    if (schedule.learning_rate(step, base_learning_rate) == rates[static_cast<size_t>(step)]) {
      continue;
    }
    questions.ask(false, "the rate of step " + std::to_string(step) + " depends on earlier calls");
    break;
  }
  return questions.take();
}

}  // namespace s2s::conformance
