// Source: transformers.optimization.Adafactor, arXiv 1804.04235.

#include <ATen/ATen.h>

#include <cmath>

#include "whole.h"

namespace s2s::peer_optimizers {
namespace {

struct AdafactorOptions {
  std::optional<double> lr;
  std::vector<double> eps = {1e-30, 1e-3};
  double clip_threshold = 1;
  double decay_rate = -0.8;
  std::optional<double> beta1;
  bool scale_parameter = true;
  bool relative_step = true;
  bool warmup_init = false;
  CommonOptions common;
  void visit(OptionVisitor& v) {
    v("lr", lr, "base learning rate; only, and needed, with relative_step: false", at_least(0));
    v("eps", eps, "added to the squared gradient; the least scale of a parameter", at_least(0));
    v("clip_threshold", clip_threshold, "largest root mean square of an update", at_least(1e-30));
    v("decay_rate", decay_rate, "the second moment decays by 1 - step^decay_rate");
    v("beta1", beta1, "decay rate of the first moment; null: there is none", between(0, 1));
    v("scale_parameter", scale_parameter,
      "the learning rate is multiplied by the parameter's root mean square");
    v("relative_step", relative_step,
      "the learning rate is 1 / sqrt(step), at most 0.01; a schedule multiplies it, from 1");
    v("warmup_init", warmup_init, "with relative_step: at most 1e-6 * step instead of 0.01");
    common.visit(v, "weight decay, multiplied by the learning rate");
  }
};

constexpr const char* kRows = "exp_avg_sq_row";
constexpr const char* kColumns = "exp_avg_sq_col";

at::Tensor root_mean_square(const at::Tensor& tensor) {
  return tensor.norm() / std::sqrt(static_cast<double>(tensor.numel()));
}

class Adafactor final : public WithWholeParameters {
 public:
  explicit Adafactor(const AdafactorOptions& options)
      : WithWholeParameters(options.common), options_(options) {}

  double base_learning_rate() const override {
    return options_.relative_step ? 1 : options_.lr.value_or(0);
  }
  bool is_whole_state(const std::string& name) const override {
    return name.ends_with(kRows) || name.ends_with(kColumns);
  }

 protected:
  /// States are float32, also of parameters with 16 bits.
  void begin(Trained& trained) override {
    const auto options = trained.tensor.options().dtype(at::kFloat).requires_grad(false);
    std::vector<int64_t> sizes = whole_sizes(trained);
    trained.states[kStep] = count_of(trained);
    if (options_.beta1) trained.states[kFirst] = at::zeros(trained.tensor.sizes(), options);
    if (sizes.size() < 2) {
      trained.states[kSecond] = at::zeros(trained.tensor.sizes(), options);
      return;
    }
    std::vector<int64_t> rows(sizes.begin(), sizes.end() - 1);
    sizes.erase(sizes.end() - 2);
    trained.states[kRows] = at::zeros(rows, options);
    trained.states[kColumns] = at::zeros(sizes, options);
  }

  void update(Trained& trained, const at::Tensor& gradient, double learning_rate) override {
    const at::Tensor parameter = trained.tensor.to(at::kFloat);  // a copy of 16-bit ones
    at::Tensor& step = trained.state(kStep);
    step.add_(1);
    const at::Tensor rate = rate_of(trained, parameter, learning_rate);
    at::Tensor change = normalized(trained, gradient.to(at::kFloat)).mul_(rate);
    if (options_.beta1) {
      at::Tensor& first = trained.state(kFirst);
      first.mul_(*options_.beta1).add_(change, 1 - *options_.beta1);
      change = first;
    }
    if (trained.weight_decay != 0) parameter.sub_(parameter * (rate * trained.weight_decay));
    parameter.sub_(change);
    if (!parameter.is_same(trained.tensor)) trained.tensor.copy_(parameter);
  }

 private:
  /// The learning rate, without dimensions: float64, because steps have no exact float32 powers.
  at::Tensor rate_of(const Trained& trained, const at::Tensor& parameter,
                     double learning_rate) const {
    const at::Tensor step = trained.states.at(kStep).to(at::kDouble);
    at::Tensor rate = at::full({}, learning_rate, step.options());
    if (options_.relative_step) {
      const at::Tensor largest = options_.warmup_init ? step * 1e-6 : at::full_like(step, 1e-2);
      rate.mul_(at::minimum(largest, step.rsqrt()));
    }
    if (!options_.scale_parameter) return rate;
    const at::Tensor scale = root_mean_square(gather(trained, parameter));
    return rate.mul_(scale.clamp_min(options_.eps[1]));
  }

  /// This rank's part of the gradient over the root of its second moment, clipped.
  at::Tensor normalized(Trained& trained, const at::Tensor& gradient) {
    const at::Tensor step = trained.state(kStep).to(at::kDouble);
    const at::Tensor decay = 1 - step.pow(options_.decay_rate);
    const auto average = [&](at::Tensor& state, const at::Tensor& value) {
      state.mul_(decay).add_(value * (1 - decay));
    };
    const bool is_factored = trained.states.contains(kRows);
    at::Tensor change;  // of the whole if factored
    if (is_factored) {
      const at::Tensor whole = gather(trained, gradient);
      const at::Tensor square = whole.square().add_(options_.eps[0]);
      at::Tensor &rows = trained.state(kRows), &columns = trained.state(kColumns);
      average(rows, square.mean(-1));
      average(columns, square.mean(-2));
      const at::Tensor by_row = (rows / rows.mean(-1, /*keepdim=*/true)).rsqrt_().unsqueeze(-1);
      change = (by_row * columns.unsqueeze(-2).rsqrt()).mul_(whole);
    } else {
      at::Tensor& second = trained.state(kSecond);
      average(second, gradient.square().add_(options_.eps[0]));
      change = second.rsqrt().mul_(gradient);
    }
    const at::Tensor size = root_mean_square(is_factored ? change : gather(trained, change));
    change = is_factored ? shard_of(trained, change) : change;
    return change.div_((size / options_.clip_threshold).clamp_min_(1));
  }

  AdafactorOptions options_;
};

std::unique_ptr<Optimizer> create_adafactor(const Config& options, const BuildContext& context) {
  const auto read = read_options<AdafactorOptions>(options, context.path);
  require_count(read.eps, 2, "eps", "[1e-30, 1e-3]", options, context);
  if (read.lr && read.relative_step) {
    throw conflict_error(
        "lr and relative_step: true exclude each other: relative_step computes the rate",
        "no lr, or relative_step: false", options, context);
  }
  if (!read.lr && !read.relative_step) {
    throw conflict_error("relative_step is false, and lr is missing", "a number for lr", options,
                         context);
  }
  if (read.warmup_init && !read.relative_step) {
    throw conflict_error("warmup_init: true needs relative_step: true",
                         "relative_step: true, or warmup_init: false", options, context);
  }
  return std::make_unique<Adafactor>(read);
}

}  // namespace

Component<Optimizer> adafactor_component() {
  return {.name = "adafactor",
          .summary = "Adam with a second moment of rows and columns, as transformers' Adafactor",
          .create = create_adafactor,
          .options = list_options<AdafactorOptions>};
}

}  // namespace s2s::peer_optimizers
