#pragma once
// Batch: the output of a data source and the input of a model. A source fills the tensors that the
// kind of model reads. Layout and names of the speech tensors follow NeMo's DuplexS2SDataset.

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
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

/// A document in a row of token ids. Attention does not cross documents, and positions begin at 0
/// in each.
struct DocumentSpan {
  int64_t row = 0;
  int64_t begin = 0;   // column of its first token
  int64_t length = 0;  // tokens
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
  /// Text: token ids [B, T] int64, right padded with any id, and for each position the same id
  /// where the model is to predict it, -100 elsewhere.
  at::Tensor text_BT, text_labels_BT;
  /// Of text_BT, by row and column. Empty: a document per row, without padding.
  std::vector<DocumentSpan> documents;
  /// Tensors of other model kinds, by the names of the model's source.
  std::map<std::string, at::Tensor> others;
  std::vector<std::string> ids;
  std::vector<std::string> target_texts;  // agent texts of a row, joined with one space
  std::vector<std::vector<Turn>> turns;

  /// Rows.
  int64_t size() const {
    if (text_BT.defined()) return text_BT.size(0);
    return source_audio_BS.defined() ? source_audio_BS.size(0) : static_cast<int64_t>(ids.size());
  }
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
