#pragma once
// Codec: encodes the agent's voice into K streams of tokens, and decodes them. Kind `codec`. Always
// frozen, replicated and float32.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"

namespace s2s {

/// Sizes and rates that the model and the data depend on.
struct CodecShape {
  int64_t sample_rate_hz = 0;
  int64_t samples_per_frame = 0;
  int64_t num_codebooks = 0;
  int64_t codebook_size = 0;  // per codebook, without the model's control tokens
  /// Frames per second.
  double frame_rate_hz() const {
    return static_cast<double>(sample_rate_hz) / static_cast<double>(samples_per_frame);
  }
};

/// Decodes frame by frame. All outputs concatenated equal `Codec::decode` of all frames.
class CodecStream {
 public:
  virtual ~CodecStream();
  /// codes [B, K, T] -> audio [B, S'] that will not change any more. S' may be less than T frames,
  /// because of look-ahead. The codes are on the CPU, wherever the codec is: a session has read
  /// them.
  virtual at::Tensor push(const at::Tensor& codes_BKT) = 0;
  virtual at::Tensor finish() = 0;
  /// What the stream remembers, by name. `restore` of it in another stream of the same codec and
  /// batch size continues bit for bit. Errors: [codec/stream-state]; by default always, for a
  /// stream that cannot be saved.
  virtual std::map<std::string, at::Tensor> state() const;
  virtual void restore(const std::map<std::string, at::Tensor>& state);
};

/// Encodes audio as it comes. All codes together are those of `Codec::encode` of the whole audio.
class CodecEncoderStream {
 public:
  virtual ~CodecEncoderStream();
  /// audio [B, S] float32 of any length, after that of earlier calls -> codes [B, K, T] int64 of
  /// the frames that no later audio can change. T may be 0.
  virtual at::Tensor push(const at::Tensor& audio_BS) = 0;
  /// The codes of the remaining frames [B, K, T]; a last, incomplete frame is padded.
  virtual at::Tensor finish() = 0;
  /// As those of CodecStream.
  virtual std::map<std::string, at::Tensor> state() const;
  virtual void restore(const std::map<std::string, at::Tensor>& state);
};

/// Encodes audio to codes and decodes codes to audio.
class Codec : public Block {
 public:
  ~Codec() override;
  /// Sizes and rates; constant.
  virtual CodecShape shape() const = 0;
  /// audio [B, S] float32 at shape().sample_rate_hz, lengths [B] int64 samples; padded to whole
  /// frames.  -> codes [B, K, T] int64 (0 beyond a row's length), lengths [B] int64 frames.
  virtual std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                                   const at::Tensor& lengths_B) = 0;
  /// codes [B, K, T] -> audio [B, T * samples_per_frame].
  virtual at::Tensor decode(const at::Tensor& codes_BKT) = 0;
  virtual std::unique_ptr<CodecStream> open_stream(int64_t batch_size) = 0;
  /// Encodes audio frame by frame, for models that listen through the codec. Default: null, the
  /// codec encodes whole recordings only.
  virtual std::unique_ptr<CodecEncoderStream> open_encoder_stream(
      [[maybe_unused]] int64_t batch_size) {
    return nullptr;
  }
  /// Codes of digital silence, [K] int64. They replace control tokens before decoding.
  virtual at::Tensor silence_codes() = 0;
  /// Computes the codec's statistics from audio. `next` returns clips [S] at the codec's rate, and
  /// an undefined tensor at the end. Store the result in persistent buffers, so that checkpoints
  /// contain it. Default: nothing to fit; returns false and reads nothing.
  virtual bool fit([[maybe_unused]] const std::function<at::Tensor()>& next) { return false; }
  /// False while the codec still needs `fit`. Default: true.
  virtual bool is_fitted() const { return true; }
  /// Maps names to those of the original checkpoints. Default: the names are equal.
  virtual NameMap checkpoint_names() const { return {{{"**", "**"}}, {}}; }
};

}  // namespace s2s
