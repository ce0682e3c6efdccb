#include "streams.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"
#include "two_level_errors.h"

namespace s2s::two_level {

void check_audio(const std::string& name, const at::Tensor& audio_BS) {
  if (!audio_BS.defined())
    throw streams_error(name, audio_BS, "speech, as the data source cuts has it");
}

std::pair<at::Tensor, at::Tensor> agent_codes(const Batch& batch, Codec* codec) {
  if (batch.codes_BKT.defined()) {
    return {batch.codes_BKT.to(at::kLong), batch.code_lens_B.to(at::kLong)};
  }
  if (codec == nullptr) throw no_codec_error("the codes of the agent's audio");
  check_audio("target_audio", batch.target_audio_BS);
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  return codec->encode(batch.target_audio_BS, batch.target_audio_lens_B);
}

void check_books(const std::string& name, const at::Tensor& codes_BKT, int64_t books,
                 int64_t rows) {
  const bool fits = codes_BKT.dim() == 3 && codes_BKT.size(1) == books && codes_BKT.size(2) > 0;
  if (fits && (rows < 0 || codes_BKT.size(0) == rows)) return;
  throw streams_error(name, codes_BKT,
                      "[" + (rows < 0 ? "rows" : std::to_string(rows)) + ", " +
                          std::to_string(books) + ", frames], at least one frame");
}

void check_sizes(const std::string& name, const at::Tensor& x, at::IntArrayRef sizes,
                 const std::string& expected) {
  if (x.sizes() != sizes) throw streams_error(name, x, expected);
}

CodeCount count_codes(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      const CodecShape& shape) {
  if (shape.samples_per_frame == 0) throw no_codec_error("the codes of audio");
  check_audio("audio", audio_BS);
  const auto frames = [&](int64_t samples) {
    return (samples + shape.samples_per_frame - 1) / shape.samples_per_frame;
  };
  CodeCount count{frames(audio_BS.size(1)), to_vector(lengths_B)};
  for (int64_t& length : count.lengths) length = frames(length);
  return count;
}

CodeCount count_agent_codes(const Batch& batch, const CodecShape& shape) {
  if (!batch.codes_BKT.defined()) {
    return count_codes(batch.target_audio_BS, batch.target_audio_lens_B, shape);
  }
  return {batch.codes_BKT.size(2), to_vector(batch.code_lens_B)};
}

int64_t batch_rows(const Batch& batch) {
  return batch.codes_BKT.defined() ? batch.codes_BKT.size(0) : batch.target_audio_BS.size(0);
}

at::Tensor codec_codes(const at::Tensor& codes_BKT, const at::Tensor& silence_K, int64_t size) {
  const at::Tensor unknown_BT = codes_BKT.ge(size).any(1);
  return at::where(unknown_BT.unsqueeze(1), silence_K.view({1, -1, 1}), codes_BKT).contiguous();
}

std::vector<std::string> texts_of(const at::Tensor& text_BT, const at::Tensor& lengths_B,
                                  const Tokenizer& tokenizer) {
  const std::vector<int64_t> lengths = to_vector(lengths_B);
  std::vector<std::string> texts;
  for (size_t b = 0; b < lengths.size(); ++b) {
    const at::Tensor row_T = text_BT[static_cast<int64_t>(b)];
    std::vector<int64_t> ids = to_vector(row_T.narrow(0, 0, lengths[b]));
    std::erase(ids, tokenizer.known_special_ids().pad);  // decoding may not skip it
    texts.push_back(tokenizer.decode(ids));
  }
  return texts;
}

void add_book_names(const std::string& name, int64_t first, int64_t books,
                    std::vector<std::string>& names) {
  for (const char* kind : {"_loss", "_accuracy"}) {
    names.push_back(name + kind);
    for (int64_t k = first; k < first + books; ++k) {
      names.push_back(name + kind + "_" + std::to_string(k));
    }
  }
}

}  // namespace s2s::two_level
