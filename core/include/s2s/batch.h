#pragma once
// Batch: what a data source hands to a model. Layout and names follow NeMo's DuplexS2SDataset.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace s2s {

/// One spoken turn of a dialogue, on the cut's clock.
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
  /// Codec tokens of target_audio [B, K, T] and their lengths, when they are already known; then
  /// the codec is not run.
  at::Tensor codes_BKT, code_lens_B;
  std::vector<std::string> ids;
  std::vector<std::string> target_texts;  // agent texts of a row, joined by one blank
  std::vector<std::vector<Turn>> turns;

  int64_t size() const { return source_audio_BS.defined() ? source_audio_BS.size(0) : 0; }
  /// On `device`. `non_blocking`: from pinned memory the copy goes on while the CPU does, in the
  /// order of the device's stream; the source's memory is kept by LibTorch until it is done.
  Batch to(at::Device device, bool non_blocking = false) const;
  /// In page-locked memory, from which a GPU copies by itself; needs a GPU.
  Batch pin_memory() const;
};

}  // namespace s2s
