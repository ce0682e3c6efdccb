#pragma once
// DAC, the Descript audio codec: convolutions around a residual quantizer. Results follow
// transformers' DacModel. Shape letters: B batch, S samples, K codebooks, T frames, H width.

#include <map>
#include <memory>
#include <string>

#include "dac_quantizer.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/frame_codec.h"

namespace s2s::dac {

/// Convolutions look ahead, so a stream lags behind by what they see.
class Dac : public FrameCodec, public RunsReferences, public HasForeignClass {
 public:
  Dac(const DacOptions& options, std::string weights_path);
  ~Dac() override;

  CodecShape shape() const override;
  /// transformers' names.
  NameMap checkpoint_names() const override;
  Config hf_config() const override { return dac_to_hf(options_); }
  /// Outputs: those of FrameCodec::peer_outputs, latents and quantized [B, H, T].
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;
  at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                          bool is_last) const override;
  at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                          bool is_last) const override;

 private:
  DacOptions options_;
  std::string weights_path_;
  AudioStack encoder_, decoder_;
  DacQuantizer quantizer_;
};

}  // namespace s2s::dac
