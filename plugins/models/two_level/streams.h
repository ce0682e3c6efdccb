#pragma once
// Code streams of a batch. Shape letters: B batch, K codebooks, T frames, S samples.

#include <string>
#include <utility>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/rows.h"

namespace s2s::two_level {

/// Errors: [model/streams] if the batch has no audio.
void check_audio(const std::string& name, const at::Tensor& audio_BS);

/// The agent's codes [B, K, T] and their lengths [B]: from the batch, else from target_audio by the
/// codec. Errors: [model/no-codec], [model/streams].
std::pair<at::Tensor, at::Tensor> agent_codes(const Batch& batch, Codec* codec);

/// Errors: [model/streams] unless codes are [B, `books`, T] with T > 0. rows: B; -1: any.
void check_books(const std::string& name, const at::Tensor& codes_BKT, int64_t books,
                 int64_t rows = -1);
/// Errors: [model/streams] unless x has these sizes. `expected` describes them.
void check_sizes(const std::string& name, const at::Tensor& x, at::IntArrayRef sizes,
                 const std::string& expected);

/// Width and valid frames per row, counted without the codec.
struct CodeCount {
  int64_t width = 0;
  std::vector<int64_t> lengths;
};
CodeCount count_agent_codes(const Batch& batch, const CodecShape& shape);
CodeCount count_codes(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      const CodecShape& shape);

/// The number of rows, also of a batch with codes only.
int64_t batch_rows(const Batch& batch);

/// Replaces frames with codes that the codec does not have by silence_K.
at::Tensor codec_codes(const at::Tensor& codes_BKT, const at::Tensor& silence_K, int64_t size);

/// The texts of a text channel, each up to its row's length.
std::vector<std::string> texts_of(const at::Tensor& text_BT, const at::Tensor& lengths_B,
                                  const Tokenizer& tokenizer);

/// The names that add_book_metrics uses.
void add_book_names(const std::string& name, int64_t first, int64_t books,
                    std::vector<std::string>& names);

}  // namespace s2s::two_level
