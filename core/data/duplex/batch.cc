#include "s2s/batch.h"

#include "duplex/batch_tensors.h"

namespace s2s {
namespace {

/// Calls `use` for each tensor that the batch has, except `others`.
template <class AnyBatch, class Use>
void for_own_tensors(AnyBatch& batch, const Use& use) {
  for (const BatchTensor& tensor : kBatchTensors) {
    if ((batch.*tensor.rows).defined()) use(batch.*tensor.rows);
    if (tensor.lengths_B != nullptr && (batch.*tensor.lengths_B).defined()) {
      use(batch.*tensor.lengths_B);
    }
  }
}

template <class Change>
Batch changed(Batch batch, const Change& change) {
  for_own_tensors(batch, [&](at::Tensor& tensor) { tensor = change(tensor); });
  for (auto& [name, tensor] : batch.others) tensor = change(tensor);
  return batch;
}

}  // namespace

Batch Batch::to(at::Device device, bool non_blocking) const {
  return changed(*this, [&](const at::Tensor& tensor) { return tensor.to(device, non_blocking); });
}

Batch Batch::pin_memory() const {
  return changed(*this, [](const at::Tensor& tensor) { return tensor.pin_memory(); });
}

void Batch::for_each(const std::function<void(const at::Tensor&)>& use) const {
  for_own_tensors(*this, use);
  for (const auto& [name, tensor] : others) use(tensor);
}

}  // namespace s2s
