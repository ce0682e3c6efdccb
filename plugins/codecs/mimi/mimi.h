#pragma once
// Mimi, the codec of Moshi and CSM: causal convolutions and transformers around a residual
// quantizer. Results follow transformers' MimiModel. Shape letters: B batch, S samples, K
// codebooks, T frames, H hidden.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mimi_layers.h"
#include "mimi_quantizer.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/frame_codec.h"

namespace s2s::mimi {

class Mimi : public FrameCodec, public RunsReferences, public HasForeignClass {
 public:
  Mimi(const MimiOptions& options, std::string weights_path);
  ~Mimi() override;

  CodecShape shape() const override;
  /// transformers' names; also inside Moshi's and CSM's.
  NameMap checkpoint_names() const override;
  Config hf_config() const override { return mimi_to_hf(options_); }
  /// What a model listens to: the latents of a piece [B, H, T], or the sum of their nearest
  /// entries.
  at::Tensor features(const at::Tensor& audio_BS, StreamState& state, bool is_last,
                      bool is_quantized) const;
  /// The same of whole recordings.
  at::Tensor features(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      bool is_quantized) const;
  /// A stream of them.
  std::unique_ptr<CodecEncoderStream> open_feature_stream(int64_t batch_size, bool is_quantized);
  /// Inputs: audio [B, S], lengths [B], codes [B, K, T] and first_books, a number. Outputs: latents
  /// and quantized [B, H, T], codes, lengths, audio, and audio_first_books of the first books.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;
  at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                          bool is_last) const override;
  at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                          bool is_last) const override;

 private:
  /// audio [B, S] -> [B, H, T], before they are quantized.
  at::Tensor latents(const at::Tensor& audio_BS, StreamState& state, bool is_last) const;

  MimiOptions options_;
  std::string weights_path_;
  AudioStack encoder_;
  MimiTransformer encoder_transformer_;
  std::unique_ptr<StreamConv1d> downsample_;  // null without a difference of rates
  SplitQuantizer quantizer_;
  std::unique_ptr<StreamConvTranspose1d> upsample_;
  MimiTransformer decoder_transformer_;
  AudioStack decoder_;
};

}  // namespace s2s::mimi
