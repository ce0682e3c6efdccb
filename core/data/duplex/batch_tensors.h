#pragma once
// The tensors of a batch: names, data types and padding.

#include <array>
#include <cstdint>

#include "s2s/batch.h"

namespace s2s {

/// What pads rows on the right up to the longest one.
enum class BatchPadding {
  kZero,
  kPad,      // the tokenizer's PAD
  kAnyId,    // any id, because labels leave it out
  kNoLabel,  // -100
};

/// The tensor of a batch's rows, and the tensor of their lengths.
struct BatchTensor {
  const char* name;
  at::Tensor Batch::*rows;  // [B, N] or [B, K, N]
  bool is_audio;            // float32; else int64
  int64_t num_dims;
  BatchPadding padding;
  const char* lengths_name = nullptr;      // null: the labels say where a row ends
  at::Tensor Batch::*lengths_B = nullptr;  // int64
};

constexpr std::array<BatchTensor, 7> kBatchTensors = {
    {{"source_audio_BS", &Batch::source_audio_BS, true, 2, BatchPadding::kZero,
      "source_audio_lens_B", &Batch::source_audio_lens_B},
     {"target_audio_BS", &Batch::target_audio_BS, true, 2, BatchPadding::kZero,
      "target_audio_lens_B", &Batch::target_audio_lens_B},
     {"target_tokens_BT", &Batch::target_tokens_BT, false, 2, BatchPadding::kPad,
      "target_token_lens_B", &Batch::target_token_lens_B},
     {"source_tokens_BT", &Batch::source_tokens_BT, false, 2, BatchPadding::kPad,
      "source_token_lens_B", &Batch::source_token_lens_B},
     {"codes_BKT", &Batch::codes_BKT, false, 3, BatchPadding::kZero, "code_lens_B",
      &Batch::code_lens_B},
     {"text_BT", &Batch::text_BT, false, 2, BatchPadding::kAnyId},
     {"text_labels_BT", &Batch::text_labels_BT, false, 2, BatchPadding::kNoLabel}}};

}  // namespace s2s
