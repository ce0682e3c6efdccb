#pragma once
// Whisper's encoder with its log-mel front end, as transformers has them. Audio of any length is
// cut into windows (30 s), each of which is encoded by itself; the frames are joined. Shape
// letters: B rows, W windows of a row, S samples, F mel bands, M mel frames, T frames, H width.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "whisper_options.h"

namespace s2s::whisper {

class Whisper : public Encoder, public RunsReferences {
 public:
  /// place: of the options in the config; weights_path: "" for random weights.
  Whisper(const WhisperOptions& options, const std::string& place, std::string weights_path);
  ~Whisper() override;

  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override;
  int64_t output_frames(int64_t num_samples) const override;
  int64_t output_width(int64_t num_samples) const override { return output_frames(num_samples); }
  int64_t output_dim() const override { return options_.d_model * outputs_.count(); }
  /// Outputs of layers are those before the last norm.
  void select_outputs(const std::vector<int64_t>& layers, bool final_output) override {
    outputs_.select(layers, final_output);
  }
  double forward_flops(int64_t rows, int64_t num_samples) override;
  int64_t sample_rate_hz() const override { return options_.sampling_rate; }
  double frame_rate_hz() const override;
  /// Errors: [encoder/not-streamable].
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  /// Inputs: audio [B, S] and lengths, or mel [B, F, M] of whole windows and mel_lengths. Outputs:
  /// mel, mel_lengths, features, lengths, layer_1 (after the first layer).
  /// Errors: [encoder/window].
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

  /// The encoder alone: mel [B, F, M] of whole windows -> [B, M / 2, H].
  at::Tensor encode(const at::Tensor& mel_BFM) { return encode(mel_BFM, outputs_); }
  const WhisperFeatures& features() const { return features_; }
  const WhisperOptions& options() const { return options_; }

 protected:
  void reset_buffers() override;
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  at::Tensor encode(const at::Tensor& mel_BFM, const LayerOutputs& outputs);

  WhisperOptions options_;
  std::string place_, weights_path_;
  LayerOutputs outputs_;
  WhisperFeatures features_;
  at::Tensor positions_TH_;
  WhisperStem stem_;
  std::vector<std::unique_ptr<EncoderLayer>> layers_;
  LayerNorm norm_;
};

}  // namespace s2s::whisper
