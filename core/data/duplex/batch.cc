#include "s2s/batch.h"

namespace s2s {
namespace {

template <class Change>
Batch changed(Batch batch, const Change& change) {
  for (at::Tensor* tensor :
       {&batch.source_audio_BS, &batch.source_audio_lens_B, &batch.target_audio_BS,
        &batch.target_audio_lens_B, &batch.target_tokens_BT, &batch.target_token_lens_B,
        &batch.source_tokens_BT, &batch.source_token_lens_B, &batch.codes_BKT,
        &batch.code_lens_B}) {
    if (tensor->defined()) *tensor = change(*tensor);
  }
  return batch;
}

}  // namespace

Batch Batch::to(at::Device device, bool non_blocking) const {
  return changed(*this, [&](const at::Tensor& tensor) { return tensor.to(device, non_blocking); });
}

Batch Batch::pin_memory() const {
  return changed(*this, [](const at::Tensor& tensor) { return tensor.pin_memory(); });
}

}  // namespace s2s
