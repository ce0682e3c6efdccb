#pragma once
// Codec: turns the agent's voice into K streams of tokens and back. Kind `codec`. Always frozen and
// replicated; always float32.

#include <functional>
#include <memory>
#include <utility>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"

namespace s2s {

/// Numbers that the model and the data depend on.
struct CodecShape {
  int64_t sample_rate_hz = 0;
  int64_t samples_per_frame = 0;
  int64_t num_codebooks = 0;
  int64_t codebook_size = 0;  // tokens of every codebook; control tokens are the model's business
  /// Frames a second.
  double frame_rate_hz() const {
    return static_cast<double>(sample_rate_hz) / static_cast<double>(samples_per_frame);
  }
};

/// Decodes frame by frame; the sum of all pieces equals `Codec::decode` of all frames.
class CodecStream {
 public:
  virtual ~CodecStream();
  /// codes [B, K, T] -> audio [B, S'] that is final; S' may be less than T frames (look-ahead).
  virtual at::Tensor push(const at::Tensor& codes_BKT) = 0;
  virtual at::Tensor finish() = 0;
};

/// Audio to codes and back.
class Codec : public Block {
 public:
  ~Codec() override;
  /// The same at all times.
  virtual CodecShape shape() const = 0;
  /// audio [B, S] float32 at shape().sample_rate_hz, lengths [B] int64 samples; padded to whole
  /// frames.  -> codes [B, K, T] int64 (0 beyond a row's length), lengths [B] int64 frames.
  virtual std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                                   const at::Tensor& lengths_B) = 0;
  /// codes [B, K, T] -> audio [B, T * samples_per_frame].
  virtual at::Tensor decode(const at::Tensor& codes_BKT) = 0;
  virtual std::unique_ptr<CodecStream> open_stream(int64_t batch_size) = 0;
  /// Codes of digital silence, [K] int64; they replace control tokens before decoding.
  virtual at::Tensor silence_codes() = 0;
  /// Fits statistics to audio; `next` returns clips [S] at the codec's rate, undefined at the end.
  /// The result lives in persistent buffers, hence in checkpoints. Here: there is nothing to fit;
  /// returns false and reads nothing.
  virtual bool fit([[maybe_unused]] const std::function<at::Tensor()>& next) { return false; }
  /// False while statistics that the codec needs are missing. Here: it needs none.
  virtual bool is_fitted() const { return true; }
  /// Names as in the source's checkpoints. Here: the same names.
  virtual NameMap checkpoint_names() const { return {{{"**", "**"}}, {}}; }
};

}  // namespace s2s
