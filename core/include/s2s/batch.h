#pragma once
// Batch: the output of a data source and the input of a model. Layout and names follow NeMo's
// DuplexS2SDataset.

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace s2s {

/// One spoken turn of a dialogue. Times are relative to the start of the cut.
struct Turn {
  bool is_agent = false;
  double start_s = 0;
  double end_s = 0;
  std::string text;
};

/// Audio is float32, right padded with zeros; token channels int64, right padded with PAD.
struct Batch {
  at::Tensor source_audio_BS, source_audio_lens_B;   // the user, at the encoder's rate
  at::Tensor target_audio_BS, target_audio_lens_B;   // the agent, at the codec's rate
  at::Tensor target_tokens_BT, target_token_lens_B;  // agent text channel
  at::Tensor source_tokens_BT, source_token_lens_B;  // user text channel (for the auxiliary head)
  /// Codec tokens of target_audio [B, K, T] and their lengths. When the data source provides them,
  /// the codec does not run.
  at::Tensor codes_BKT, code_lens_B;
  std::vector<std::string> ids;
  std::vector<std::string> target_texts;  // agent texts of a row, joined with one space
  std::vector<std::vector<Turn>> turns;

  int64_t size() const { return source_audio_BS.defined() ? source_audio_BS.size(0) : 0; }
  /// Copies the batch to `device`. With `non_blocking`, a copy from pinned memory is asynchronous
  /// and ordered by the device's current stream. LibTorch keeps the source's memory alive until the
  /// copy has finished.
  Batch to(at::Device device, bool non_blocking = false) const;
  /// Copies the batch to pinned (page-locked) memory, from which a GPU can copy asynchronously.
  /// Needs a GPU.
  Batch pin_memory() const;
  /// Calls `use` for each tensor that the batch has.
  void for_each(const std::function<void(const at::Tensor&)>& use) const;
};

}  // namespace s2s
