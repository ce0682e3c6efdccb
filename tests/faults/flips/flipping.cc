// optimizer:flipping is Adam that flips one bit of what it has in memory, for bit_flips.py.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "s2s/kinds/optimizer.h"
#include "s2s/plugin.h"

namespace s2s::flipping {

struct FlippingOptions {
  double lr = 1e-3;
  std::string place = "none";
  int64_t at_step = 0;
  int64_t bit = 0;
  double element = 0;
  void visit(OptionVisitor& v) {
    v("lr", lr, "learning rate", at_least(0));
    v("place", place, "none, weight, gradient, exp_avg or exp_avg_sq");
    v("at_step", at_step, "1-based step whose update meets the flipped bit", at_least(0));
    v("bit", bit, "bit of a float32: 31 is the sign, 30 the highest of the exponent", at_least(0));
    v("element", element, "which element, as a fraction of all", between(0, 1));
  }
};

/// Flips a bit of one float32 element, or of its copy.
void flip(const at::Tensor& flat, int64_t element, int64_t bit) {
  float* const at = flat.data_ptr<float>() + element;
  *at = std::bit_cast<float>(std::bit_cast<uint32_t>(*at) ^ (uint32_t{1} << (bit % 32)));
}

class Flipping : public Optimizer {
 public:
  explicit Flipping(FlippingOptions options) : options_(std::move(options)) {}

  void attach(std::vector<NamedTensor> parameters, std::vector<double>) override {
    int64_t all = 0;
    for (const NamedTensor& one : parameters) {
      names_.push_back(one.name);
      parameters_.push_back(*one.tensor);
      first_.push_back(at::zeros_like(one.tensor->detach()));
      second_.push_back(at::zeros_like(one.tensor->detach()));
      all += one.tensor->numel();
    }
    element_ = static_cast<int64_t>(options_.element * static_cast<double>(all - 1));
    while (element_ >= parameters_[which_].numel()) element_ -= parameters_[which_++].numel();
    if (options_.place != "gradient") return;
    parameters_[which_].register_hook([this](const at::Tensor& gradient) {
      const at::Tensor flipped = gradient.clone().contiguous();
      if (++backwards_ == options_.at_step) flip(flipped, element_, options_.bit);
      return flipped;
    });
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    if (++done_ == options_.at_step) flip_own();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].grad();
      if (!gradient.defined()) continue;
      const double count = static_cast<double>(done_);
      first_[i].mul_(0.9).add_(gradient, 0.1);
      second_[i].mul_(0.98).addcmul_(gradient, gradient, 0.02);
      const at::Tensor root = (second_[i] / (1 - std::pow(0.98, count))).sqrt_().add_(1e-8);
      parameters_[i].addcdiv_(first_[i], root, -learning_rate / (1 - std::pow(0.9, count)));
    }
  }

  double base_learning_rate() const override { return options_.lr; }

  TensorMap state() const override {
    TensorMap state;
    for (size_t i = 0; i < names_.size(); ++i) {
      state[names_[i] + ".exp_avg"] = first_[i];
      state[names_[i] + ".exp_avg_sq"] = second_[i];
    }
    return state;
  }

  void restore(const TensorMap&) override {}  // bit_flips.py resumes no such run

 private:
  void flip_own() {
    const at::Tensor& parameter = parameters_[which_];
    if (options_.place == "weight") flip(parameter, element_, options_.bit);
    if (options_.place == "exp_avg") flip(first_[which_], element_, options_.bit);
    if (options_.place == "exp_avg_sq") flip(second_[which_], element_, options_.bit);
  }

  FlippingOptions options_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, first_, second_;
  size_t which_ = 0;
  int64_t element_ = 0, done_ = 0;
  int64_t backwards_ = 0;  // a skipped update is not among done_
};

std::unique_ptr<Optimizer> create(const Config& options, const BuildContext& context) {
  return std::make_unique<Flipping>(read_options<FlippingOptions>(options, context.path));
}

Component<Optimizer> component() {
  return {.name = "flipping",
          .summary = "Adam that flips a bit, for tests",
          .create = create,
          .options = list_options<FlippingOptions>};
}

}  // namespace s2s::flipping

S2S_PLUGIN("flipping", "0.1.0", "Apache-2.0", "optimizer:flipping") {
  registrar.add(s2s::flipping::component());
}
