#include "s2s/batch.h"

namespace s2s {
namespace {

constexpr at::Tensor Batch::*kTensors[] = {&Batch::source_audio_BS,  &Batch::source_audio_lens_B,
                                           &Batch::target_audio_BS,  &Batch::target_audio_lens_B,
                                           &Batch::target_tokens_BT, &Batch::target_token_lens_B,
                                           &Batch::source_tokens_BT, &Batch::source_token_lens_B,
                                           &Batch::codes_BKT,        &Batch::code_lens_B,
                                           &Batch::text_BT,          &Batch::text_labels_BT};

template <class Change>
Batch changed(Batch batch, const Change& change) {
  for (at::Tensor Batch::*const tensor : kTensors) {
    if ((batch.*tensor).defined()) batch.*tensor = change(batch.*tensor);
  }
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
  for (at::Tensor Batch::*const tensor : kTensors) {
    if ((this->*tensor).defined()) use(this->*tensor);
  }
  for (const auto& [name, tensor] : others) use(tensor);
}

}  // namespace s2s
