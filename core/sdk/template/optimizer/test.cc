// Checks the optimizer against the requirements of all optimizers, and prints the violations.

#include <ATen/ATen.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "optimizer.h"
#include "s2s/conformance.h"

int main() {
  const std::function<std::unique_ptr<s2s::Optimizer>()> make = [] {
    return std::make_unique<PLUGIN_NAME::Optimizer>(PLUGIN_NAME::Options());
  };
  auto answers = s2s::conformance::broken_promises(make);

  // The first update, by hand: 1 - lr * 2 / (sqrt(0.01 * 2 * 2) + eps).
  at::Tensor parameter = at::ones({1});
  parameter.mutable_grad() = at::full({1}, 2.0F);
  const auto optimizer = make();
  optimizer->attach({{"weight", &parameter, {1}, {}}}, {1.0});
  optimizer->step(0.01);
  if (std::abs(parameter.item<double>() - 0.9) > 1e-6)
    answers.push_back("the first update is wrong");

  for (const std::string& answer : answers) std::fprintf(stderr, "%s\n", answer.c_str());
  if (answers.empty()) std::puts("ok");
  return answers.empty() ? 0 : 1;
}
