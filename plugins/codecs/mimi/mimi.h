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

/// Convolutions and residual blocks between samples and the transformers' frames.
class ConvStack : public Block {
 public:
  enum class Direction { kEncode, kDecode };
  ConvStack(const MimiOptions& options, Direction direction);
  ~ConvStack() override;
  /// [B, 1, S] -> [B, H, S / hop], or back.
  at::Tensor push(const at::Tensor& x_BCT, MimiState& state) const;

 private:
  /// One of them is set.
  struct Step {
    bool has_elu = false;  // before it
    std::unique_ptr<CausalConv> conv;
    std::unique_ptr<CausalUpsampling> upsampling;
    std::unique_ptr<ResidualBlock> residual;
  };
  void add_conv(const ConvSizes& sizes, bool has_elu);
  void add_upsampling(const ConvSizes& sizes);
  void add_residuals(const MimiOptions& options, int64_t channels);
  void add(Step step, Block& block);

  int64_t layers_ = 0;  // of the checkpoint, in which an ELU counts
  std::vector<Step> steps_;
};

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
  at::Tensor latents(const at::Tensor& audio_BS, MimiState& state) const;
  /// codes [B, K, T] -> audio [B, S].
  at::Tensor speak(const at::Tensor& codes_BKT, MimiState& state) const;
  at::Device device();

  MimiOptions options_;
  std::string weights_path_;
  ConvStack encoder_;
  MimiTransformer encoder_transformer_;
  std::unique_ptr<CausalConv> downsample_;  // null without a difference of rates
  SplitQuantizer quantizer_;
  std::unique_ptr<CausalUpsampling> upsample_;
  MimiTransformer decoder_transformer_;
  ConvStack decoder_;
};

}  // namespace s2s::mimi
