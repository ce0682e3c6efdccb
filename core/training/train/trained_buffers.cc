#include "train/trained_buffers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace s2s {
namespace {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace

TrainedBuffers::TrainedBuffers(Block& model, const ParallelStrategy& strategy) {
  if (strategy.mesh().data_size() == 1) return;
  for (const NamedTensor& named : model.named_buffers()) {
    const at::Tensor& buffer = *named.tensor;
    if (!named.persistent || !buffer.defined() || !buffer.is_floating_point()) continue;
    kept_.push_back({named.tensor, buffer.detach().clone()});
  }
}

void TrainedBuffers::average(ParallelStrategy& strategy) {
  if (kept_.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<double> changed;
  for (const Kept& kept : kept_) changed.push_back(kept.buffer->equal(kept.first) ? 0 : 1);
  changed = strategy.sum_over_data(changed);
  const auto size = static_cast<double>(strategy.mesh().data_size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (changed[i] == 0) continue;
    at::Tensor& buffer = *kept_[i].buffer;
    const std::vector<double> sum = strategy.sum_over_data(numbers_of(buffer));
    buffer.copy_(at::tensor(sum, at::kDouble).div_(size).view(buffer.sizes()));
  }
}

}  // namespace s2s
