// AdamW: one fused update for all parameters with the same learning-rate scale.
// Source: PyTorch's torch.optim.AdamW; the kernel is ATen's _fused_adamw_.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/kinds/optimizer.h"
#include "s2s/nn/block.h"
#include "s2s/plugin.h"

namespace s2s::adamw {

struct AdamWOptions {
  double lr = 3e-4;
  std::vector<double> betas = {0.9, 0.98};
  double eps = 1e-8;
  double weight_decay = 0;
  bool exclude_norm_from_wd = false;
  void visit(OptionVisitor& v) {
    v("lr", lr, "base learning rate", at_least(0));
    v("betas", betas, "decay rates of the first and second moments", between(0, 1));
    v("eps", eps, "epsilon, added to the square root of the second moment", at_least(0));
    v("weight_decay", weight_decay, "decoupled weight decay", at_least(0));
    v("exclude_norm_from_wd", exclude_norm_from_wd,
      "norms and biases (parameters with such a word in their names) do not decay");
  }
};

std::optional<at::Tensor> optional_of(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// Parameters with the same learning-rate scale and decay, and their moments, in the same order.
struct Group {
  double lr_scale = 1;
  double weight_decay = 0;
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters, first_moments, second_moments, steps;
};

class AdamW : public Optimizer {
 public:
  explicit AdamW(AdamWOptions options) : options_(std::move(options)) {}

  void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) override {
    groups_.clear();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool decays = !options_.exclude_norm_from_wd || !is_norm_or_bias(parameters[i].name);
      Group& group = group_of(lr_scales[i], decays ? options_.weight_decay : 0);
      const at::Tensor& parameter = *parameters[i].tensor;
      group.names.push_back(parameters[i].name);
      group.parameters.push_back(parameter);
      group.first_moments.push_back(at::zeros_like(parameter.detach()));
      group.second_moments.push_back(at::zeros_like(parameter.detach()));
      group.steps.push_back(
          at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameter.device())));
    }
  }

  void step(double learning_rate) override { step_scaled(learning_rate, {}); }

  bool step_scaled(double learning_rate, const GradientScale& scale) override {
    const at::NoGradGuard no_grad;
    for (Group& group : groups_) step_group(group, learning_rate * group.lr_scale, scale);
    return true;
  }

  double base_learning_rate() const override { return options_.lr; }

  TensorMap state() const override {
    TensorMap state;
    for (const Group& group : groups_) {
      for (size_t i = 0; i < group.names.size(); ++i) {
        state[group.names[i] + ".exp_avg"] = group.first_moments[i];
        state[group.names[i] + ".exp_avg_sq"] = group.second_moments[i];
        state[group.names[i] + ".step"] = group.steps[i];
      }
    }
    return state;
  }

  void restore(const TensorMap& state) override { restore_state(this->state(), state); }

 private:
  Group& group_of(double lr_scale, double weight_decay) {
    for (Group& group : groups_) {
      if (group.lr_scale == lr_scale && group.weight_decay == weight_decay) return group;
    }
    groups_.push_back({lr_scale, weight_decay, {}, {}, {}, {}, {}});
    return groups_.back();
  }

  /// Skips parameters without a gradient, as PyTorch does.
  void step_group(Group& group, double learning_rate, const GradientScale& scale) {
    std::vector<at::Tensor> parameters, gradients, first, second, steps;
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      const at::Tensor& gradient = group.parameters[i].grad();
      if (!gradient.defined()) continue;
      parameters.push_back(group.parameters[i]);
      gradients.push_back(gradient);
      first.push_back(group.first_moments[i]);
      second.push_back(group.second_moments[i]);
      steps.push_back(group.steps[i]);
    }
    if (parameters.empty()) return;
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(parameters, gradients, first, second, {}, steps, learning_rate,
                      options_.betas[0], options_.betas[1], group.weight_decay, options_.eps,
                      /*amsgrad=*/false, /*maximize=*/false, optional_of(scale.divisor),
                      optional_of(scale.found_inf));
    if (!scale.found_inf.defined()) return;
    // A skipped update does not count. Source: torch/optim/adamw.py, _fused_adamw.
    const std::vector<at::Tensor> not_made(steps.size(), scale.found_inf);
    at::_foreach_sub_(steps, not_made);
  }

  AdamWOptions options_;
  std::vector<Group> groups_;
};

std::unique_ptr<Optimizer> create(const Config& options, const BuildContext& context) {
  auto read = read_options<AdamWOptions>(options, context.path);
  if (read.betas.size() != 2) {
    throw Error(ExitCode::kConfig, "config/bounds",
                context.path + ".betas has " + std::to_string(read.betas.size()) + " values (" +
                    options.origin().text() + ")\n  expected: two, as [0.9, 0.98]");
  }
  return std::make_unique<AdamW>(std::move(read));
}

Component<Optimizer> component() {
  return {.name = "adamw",
          .summary = "Adam with decoupled weight decay, fused",
          .create = create,
          .options = list_options<AdamWOptions>};
}

}  // namespace s2s::adamw

S2S_PLUGIN("adamw", "0.1.0", "Apache-2.0", "optimizer:adamw") {
  registrar.add(s2s::adamw::component());
}
