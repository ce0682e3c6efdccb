#pragma once
// Mimi as the encoder of a model: what its codec makes of the user's voice. Shape letters: B rows,
// S samples, T frames, H width.

#include <map>
#include <memory>
#include <string>

#include "mimi.h"
#include "s2s/build_context.h"
#include "s2s/kinds/encoder.h"

namespace s2s::mimi {

struct MimiEncoderOptions : MimiOptions {
  std::string output = "latents";

  void visit(OptionVisitor& v);
};

/// Frozen, and float32 like the codec. It listens live: a frame is there with its last sample.
class MimiEncoder : public Encoder, public RunsReferences {
 public:
  MimiEncoder(const MimiEncoderOptions& options, std::string weights_path);
  ~MimiEncoder() override;

  /// features [B, T, H] float32, without a gradient.
  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override;
  int64_t output_frames(int64_t num_samples) const override;
  int64_t output_width(int64_t num_samples) const override { return output_frames(num_samples); }
  int64_t output_dim() const override { return options_.hidden_size; }
  int64_t sample_rate_hz() const override { return options_.sampling_rate; }
  double frame_rate_hz() const override { return codec_.shape().frame_rate_hz(); }
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override { return codec_.checkpoint_names(); }
  /// Inputs: audio [B, S] or [B, 1, S], lengths. Outputs: features, lengths. Rows end where the
  /// batch ends, as in the peer.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 private:
  MimiEncoderOptions options_;
  Mimi codec_;
};

/// The encoder, of the folders that the codec reads.
std::unique_ptr<Encoder> create_mimi_encoder(const Config& node, const BuildContext& context);

}  // namespace s2s::mimi
