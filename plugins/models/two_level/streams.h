#pragma once
// Code streams of a batch. Shape letters: B batch, K codebooks, T frames, S samples.

#include <string>
#include <utility>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::two_level {

/// The agent's codes [B, K, T] and their lengths [B]: those of the batch, else the codec's of
/// target_audio. Errors: [model/no-codec].
std::pair<at::Tensor, at::Tensor> agent_codes(const Batch& batch, Codec* codec);

/// Errors: [model/streams] unless codes are [B, `books`, T] with T > 0.
void check_books(const std::string& name, const at::Tensor& codes_BKT, int64_t books);

/// Width and valid frames per row of codes, counted without the codec.
struct CodeCount {
  int64_t width = 0;
  std::vector<int64_t> lengths;
};
CodeCount count_agent_codes(const Batch& batch, const CodecShape& shape);
CodeCount count_codes(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      const CodecShape& shape);

/// Rows of the batch, also where it has codes only.
int64_t batch_rows(const Batch& batch);

/// x [B, T'] cut to T columns, or extended with `fill`.
at::Tensor fit_columns(const at::Tensor& x_BT, int64_t width, int64_t fill);

/// [B, T] bool: true before each row's length.
at::Tensor before(const at::Tensor& lengths_B, int64_t width);

/// The texts of a text channel, row by row up to its length.
std::vector<std::string> texts_of(const at::Tensor& text_BT, const at::Tensor& lengths_B,
                                  const Tokenizer& tokenizer);

/// The names that add_book_metrics gives.
void add_book_names(const std::string& name, int64_t first, int64_t books,
                    std::vector<std::string>& names);

}  // namespace s2s::two_level
