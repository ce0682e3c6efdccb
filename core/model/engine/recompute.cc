#include "engine/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <vector>

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The state of the random generators of the CPU and the device.
class RandomState {
 public:
  explicit RandomState(at::Device device) : device_(device) {
    states_.push_back(generator(at::kCPU).get_state());
    if (device.type() != at::kCPU) states_.push_back(generator(device).get_state());
  }
  void restore() const {
    generator(at::kCPU).set_state(states_[0]);
    if (states_.size() > 1) generator(device_).set_state(states_[1]);
  }

 private:
  static at::Generator generator(at::Device device) {
    return at::globalContext().defaultGenerator(device);
  }
  at::Device device_;
  std::vector<at::Tensor> states_;
};

/// The settings of autocast. The backward pass runs outside the scope that set them.
struct AutocastState {
  explicit AutocastState(at::DeviceType of)
      : device(of),
        on(at::autocast::is_autocast_enabled(of)),
        type(at::autocast::get_autocast_dtype(of)) {}
  void apply() const {
    at::autocast::set_autocast_enabled(device, on);
    at::autocast::set_autocast_dtype(device, type);
  }
  at::DeviceType device;
  bool on;
  at::ScalarType type;
};

/// Restores the settings of autocast within its scope.
class AutocastRun {
 public:
  explicit AutocastRun(const AutocastState& state) : before_(state.device) { state.apply(); }
  ~AutocastRun() { before_.apply(); }
  AutocastRun(const AutocastRun&) = delete;
  AutocastRun& operator=(const AutocastRun&) = delete;

 private:
  AutocastState before_;
  WithoutAutocastCopies without_copies_;
};

struct Again : torch::CustomClassHolder {
  Again(Block& of, BlockHooks::Forward what, at::Device device)
      : block(of), run(std::move(what)), random(device), autocast(device.type()) {}
  Block& block;
  BlockHooks::Forward run;
  RandomState random;
  AutocastState autocast;
};

/// Runs the block again, then restores the generators and the buffers.
at::Tensor run_again(const Again& again, const at::Tensor& x) {
  const RandomState random(x.device());
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
  for (const NamedTensor& buffer : again.block.named_buffers()) {
    if (buffer.tensor->defined()) buffers.emplace_back(*buffer.tensor, buffer.tensor->clone());
  }
  again.random.restore();
  at::Tensor y;
  {
    const AutocastRun autocast(again.autocast);
    const at::AutoGradMode with_gradients(true);
    y = again.run(x);
  }
  random.restore();
  const at::NoGradGuard no_grad;
  for (const auto& [buffer, before] : buffers) buffer.copy_(before);
  return y;
}

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  /// `ticket`: requires a gradient, so that parameters get gradients even if x requires none.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& /*ticket*/, const c10::intrusive_ptr<Again>& again) {
    context->saved_data["again"] = c10::IValue::make_capsule(again);
    context->saved_data["x_requires_grad"] = x.requires_grad();
    context->save_for_backward({x});
    // Run with gradients enabled, as in the second run: code that depends on GradMode then computes
    // the same bits. The graph of this run is freed with its result.
    const AutocastRun autocast(again->autocast);
    const at::AutoGradMode with_gradients(true);
    return again->run(x.detach().set_requires_grad(x.requires_grad())).detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto again =
        c10::static_intrusive_pointer_cast<Again>(context->saved_data["again"].toCapsule());
    const at::Tensor x = context->get_saved_variables()[0].detach();
    const bool wanted = context->saved_data["x_requires_grad"].toBool();
    x.set_requires_grad(wanted);
    const at::Tensor y = run_again(*again, x);
    if (y.requires_grad()) torch::autograd::backward({y}, {gradients[0]});
    return {wanted ? x.grad() : at::Tensor(), {}, {}};
  }
};

}  // namespace

at::Tensor recomputed(Block& block, const at::Tensor& x, const BlockHooks::Forward& run) {
  if (!at::GradMode::is_enabled()) return run(x);
  const at::Tensor ticket = at::empty({0}, x.options().dtype(at::kFloat)).set_requires_grad(true);
  return Recomputed::apply(x, ticket, c10::make_intrusive<Again>(block, run, x.device()));
}

}  // namespace s2s
