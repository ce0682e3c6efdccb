#include "s2s/batch.h"

namespace s2s {

Batch Batch::to(at::Device device) const {
  Batch moved = *this;
  for (at::Tensor* tensor :
       {&moved.source_audio_BS, &moved.source_audio_lens_B, &moved.target_audio_BS,
        &moved.target_audio_lens_B, &moved.target_tokens_BT, &moved.target_token_lens_B,
        &moved.source_tokens_BT, &moved.source_token_lens_B, &moved.codes_BKT,
        &moved.code_lens_B}) {
    if (tensor->defined()) *tensor = tensor->to(device);
  }
  return moved;
}

}  // namespace s2s
