// Optimizers and schedules: those of this tree, and some that break their promises.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

using namespace s2s;
using s2s::conformance::broken_promises;
using s2s::test::BuiltPlugins;

namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

bool tells(const conformance::Answers& answers, const std::string& part) {
  for (const std::string& answer : answers) {
    if (answer.find(part) != std::string::npos) return true;
  }
  return false;
}

/// Momentum that a checkpoint forgets; parameters without a gradient shrink.
class Forgets : public Optimizer {
 public:
  void attach(std::vector<NamedTensor> parameters, std::vector<double>) override {
    for (const NamedTensor& one : parameters) {
      parameters_.push_back(*one.tensor);
      momenta_.push_back(at::zeros_like(one.tensor->detach()));
    }
  }
  void step(double learning_rate) override {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor parameter = parameters_[i].detach();
      parameter.mul_(0.9);
      if (!parameters_[i].grad().defined()) continue;
      momenta_[i].mul_(0.9).add_(parameters_[i].grad());
      parameter.sub_(momenta_[i], learning_rate);
    }
  }
  bool step_scaled(double learning_rate, const GradientScale&) override {
    step(learning_rate);
    return true;
  }
  double base_learning_rate() const override { return 0.1; }
  TensorMap state() const override { return {{"block.weight.momentum", momenta_[0]}}; }
  void restore(const TensorMap&) override {}

 private:
  std::vector<at::Tensor> parameters_, momenta_;
};

/// Counts its calls, and is not finite at first.
class Counts : public Schedule {
 public:
  double learning_rate(int64_t step, double base_learning_rate) const override {
    return base_learning_rate / static_cast<double>(step) + static_cast<double>(++calls_);
  }

 private:
  mutable int64_t calls_ = 0;
};

}  // namespace

TEST_CASE("optimizers and schedules of this tree keep their promises") {
  BuiltPlugins plugins;
  for (const char* options : {R"({"name": "adamw", "weight_decay": 0.1})", R"({"name": "sgd"})",
                              R"({"name": "sgd", "momentum": 0.9, "dampening": 0.5})",
                              R"({"name": "lion"})", R"({"name": "adafactor"})",
                              R"({"name": "adafactor", "beta1": 0.9})", R"({"name": "muon"})"}) {
    CAPTURE(options);
    const MakeOptimizer make = [&] {
      return plugins.create<Optimizer>(parse_json(options, "options"));
    };
    for (const std::string& answer : broken_promises(make)) CHECK(answer == "");
  }
  for (const char* options :
       {R"({"name": "cosine_annealing", "max_steps": 100, "warmup_steps": 9})",
        R"({"name": "warmup_lr", "warmup_num_steps": 5})"}) {
    CAPTURE(options);
    const auto schedule = plugins.create<Schedule>(parse_json(options, "options"));
    for (const std::string& answer : broken_promises(*schedule, 1e-3)) CHECK(answer == "");
  }
}

TEST_CASE("an optimizer that forgets its momentum is told so") {
  const MakeOptimizer make = [] { return std::make_unique<Forgets>(); };
  const auto answers = broken_promises(make);
  CHECK(tells(answers, "an update changes a parameter without a gradient"));
  CHECK(tells(answers, "the state after `restore` is not the one that was restored"));
  CHECK(tells(answers, "after `restore` in another instance, the next update is another one"));
  CHECK(tells(answers, "a state that lacks a tensor gives no error, not [checkpoint/optimizer]"));
  CHECK(tells(answers, "`step_scaled` with found_inf = 1 changes parameters or state"));
  CHECK_FALSE(tells(answers, "three updates do not change"));
}

TEST_CASE("a schedule that counts its calls is told so") {
  const auto answers = broken_promises(Counts(), 1e-3);
  CHECK(tells(answers, "a learning rate is inf"));
  CHECK(tells(answers, "depends on earlier calls"));
}
