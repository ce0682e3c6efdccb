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
#include "s2s/kinds/codec.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::mimi {

class Mimi : public Codec, public RunsReferences, public HasForeignClass {
 public:
  Mimi(const MimiOptions& options, std::string weights_path);
  ~Mimi() override;

  CodecShape shape() const override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  /// Errors: [codec/code-range] on a CPU.
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// The stream returns the codes of a frame when all its samples are there.
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override;
  /// The codes of the last frame of two seconds of zeros.
  at::Tensor silence_codes() override;
  /// transformers' names; also inside Moshi's and CSM's.
  NameMap checkpoint_names() const override;
  Config hf_config() const override { return mimi_to_hf(options_); }
  /// Inputs: audio [B, S] of whole frames, codes [B, K, T]. Outputs: latents [B, H, T], codes,
  /// audio.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  class Listener;
  class Speaker;
  /// Whole frames of audio [B, S] -> latents [B, H, T].
  at::Tensor latents(const at::Tensor& audio_BS, StreamState& state) const;
  /// codes [B, K, T] -> audio [B, S].
  at::Tensor speak(const at::Tensor& codes_BKT, StreamState& state) const;
  at::Device device();

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
