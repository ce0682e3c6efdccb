#include "each_parameter.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace s2s::peer_optimizers {
namespace {

/// The values of a parameter and its states before an update.
struct Before {
  explicit Before(const Trained& trained) : tensor(trained.tensor.detach().clone()) {
    for (const auto& [key, value] : trained.states) states[key] = value.clone();
  }
  /// Takes the update back where `is_skipped`.
  void restore(const at::Tensor& is_skipped, Trained& trained) const {
    trained.tensor.copy_(at::where(is_skipped, tensor, trained.tensor));
    for (auto& [key, value] : trained.states) {
      value.copy_(at::where(is_skipped, states.at(key), value));
    }
  }
  at::Tensor tensor;
  std::map<std::string, at::Tensor> states;
};

}  // namespace

void EachParameter::attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) {
  const at::NoGradGuard no_grad;
  all_.clear();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool decays = !common_.exclude_norm_from_wd || !is_norm_or_bias(parameters[i].name);
    all_.push_back({parameters[i].name, *parameters[i].tensor, lr_scales[i],
                    decays ? common_.weight_decay : 0, decays});
    begin(all_.back());
  }
}

/// Skips parameters without a gradient, as PyTorch does.
bool EachParameter::step_scaled(double learning_rate, const GradientScale& scale) {
  const at::NoGradGuard no_grad;
  for (Trained& trained : all_) {
    at::Tensor gradient = trained.tensor.grad();
    if (!gradient.defined()) continue;
    if (scale.divisor.defined()) gradient = gradient / scale.divisor;
    const double rate = learning_rate * trained.lr_scale;
    if (!scale.found_inf.defined()) {
      update(trained, gradient, rate);
      continue;
    }
    const Before before(trained);
    update(trained, gradient, rate);
    before.restore(scale.found_inf > 0, trained);
  }
  return true;
}

TensorMap EachParameter::state() const {
  TensorMap state;
  for (const Trained& trained : all_) {
    for (const auto& [key, value] : trained.states) state[trained.name + "." + key] = value;
  }
  return state;
}

void EachParameter::restore(const TensorMap& state) { restore_state(this->state(), state); }

at::Tensor zeros_of(const Trained& trained) { return at::zeros_like(trained.tensor.detach()); }

at::Tensor count_of(const Trained& trained) {
  return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(trained.tensor.device()));
}

void require_count(const std::vector<double>& values, size_t count, const char* name,
                   const char* example, const Config& options, const BuildContext& context) {
  if (values.size() == count) return;
  throw config_error("config/bounds",
                     context.path + "." + name + " has " + std::to_string(values.size()) +
                         " values (" + options.origin().text() +
                         ")\n  expected: " + std::to_string(count) + ", as " + example);
}

Error conflict_error(const std::string& problem, const std::string& expected, const Config& options,
                     const BuildContext& context) {
  return config_error("config/bounds", context.path + ": " + problem + " (" +
                                           options.origin().text() + ")\n  expected: " + expected);
}

}  // namespace s2s::peer_optimizers
