#include "train/weight_average.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string_view>

#include "s2s/error.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

constexpr const char* kNumSteps = "ema.num_steps";

bool is_average(std::string_view name) {
  return name == kNumSteps || name.ends_with(kAverageSuffix);
}

}  // namespace

AveragingOptimizer::AveragingOptimizer(std::unique_ptr<Optimizer> updates, const EmaBlock& settings)
    : updates_(std::move(updates)),
      settings_(settings),
      num_steps_(at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(at::kCPU))) {}

void AveragingOptimizer::attach(std::vector<NamedTensor> parameters,
                                std::vector<double> lr_scales) {
  const at::NoGradGuard no_grad;
  all_.clear();
  for (const NamedTensor& parameter : parameters) {
    const at::Tensor& tensor = *parameter.tensor;
    const at::Device device = settings_.cpu_offload ? at::kCPU : tensor.device();
    all_.push_back({parameter.name,
                    tensor,
                    at::empty(tensor.sizes(), at::TensorOptions().dtype(at::kFloat).device(device)),
                    {}});
  }
  begin();
  has_begun_ = false;  // the weights of a checkpoint may follow
  updates_->attach(std::move(parameters), std::move(lr_scales));
}

void AveragingOptimizer::begin() {
  for (Averaged& one : all_) one.average.copy_(one.parameter.detach());
  has_begun_ = true;
}

void AveragingOptimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  if (!has_begun_) begin();
  updates_->step(learning_rate);
  update({});
}

bool AveragingOptimizer::step_scaled(double learning_rate, const GradientScale& scale) {
  const at::NoGradGuard no_grad;
  if (!has_begun_) begin();
  if (!updates_->step_scaled(learning_rate, scale)) return false;
  update(scale.found_inf);
  return true;
}

/// `found_inf`: where it is 1, the averages keep their values; undefined: an update.
void AveragingOptimizer::update(const at::Tensor& found_inf) {
  S2S_ASSERT(!is_swapped_, "the parameters are trained, not their averages");
  const auto step = static_cast<int64_t>(num_steps_.item<double>());
  num_steps_ += 1;
  if (step % settings_.every_n_steps != 0) return;
  std::vector<at::Tensor> averages, values;
  for (Averaged& one : all_) {
    averages.push_back(one.average);
    values.push_back(one.parameter.detach().to(one.average.options()));
  }
  if (averages.empty()) return;
  if (!found_inf.defined()) {
    at::_foreach_mul_(averages, settings_.decay);
    at::_foreach_add_(averages, values, 1 - settings_.decay);
    return;
  }
  const at::Tensor is_kept = (found_inf > 0).to(averages.front().device());
  for (size_t i = 0; i < averages.size(); ++i) {
    const at::Tensor next = (averages[i] * settings_.decay).add_(values[i], 1 - settings_.decay);
    averages[i].copy_(at::where(is_kept, averages[i], next));
  }
}

TensorMap AveragingOptimizer::state() const {
  S2S_ASSERT(!is_swapped_, "a checkpoint holds the trained parameters");
  TensorMap state = updates_->state();
  for (const Averaged& one : all_) state[one.name + kAverageSuffix] = one.average;
  state[kNumSteps] = num_steps_;
  return state;
}

void AveragingOptimizer::restore(const TensorMap& state) {
  const at::NoGradGuard no_grad;
  updates_->restore(without_averages(state));
  if (!has_averages(state)) return;
  std::vector<std::string> problems;
  for (const Averaged& one : all_) {
    const std::string name = one.name + kAverageSuffix;
    const auto found = state.find(name);
    if (found == state.end()) {
      problems.push_back("missing: " + name);
    } else if (found->second.sizes() != one.average.sizes()) {
      problems.push_back("another size: " + name);
    }
  }
  if (!problems.empty()) throw_other_averages(problems);
  for (Averaged& one : all_) one.average.copy_(state.at(one.name + kAverageSuffix));
  num_steps_.copy_(state.at(kNumSteps));
  has_begun_ = true;
}

bool AveragingOptimizer::swap() {
  if (!has_begun_) return false;
  const at::NoGradGuard no_grad;
  for (Averaged& one : all_) {
    const bool is_alike = one.parameter.scalar_type() == one.average.scalar_type() &&
                          one.parameter.device() == one.average.device();
    at::Tensor parameter = one.parameter.detach();
    if (is_alike) {
      const at::Tensor before = parameter.clone();
      parameter.copy_(one.average);
      one.average.copy_(before);
    } else if (is_swapped_) {
      parameter.copy_(one.original);
      one.original.reset();
    } else {
      one.original = parameter.clone();
      parameter.copy_(one.average);
    }
  }
  is_swapped_ = !is_swapped_;
  return true;
}

bool has_averages(const TensorMap& state) { return state.contains(kNumSteps); }

TensorMap without_averages(TensorMap state) {
  std::erase_if(state, [](const auto& entry) { return is_average(entry.first); });
  return state;
}

}  // namespace s2s
