#pragma once
// wav2vec 2.0, HuBERT and WavLM as transformers has them: convolutions on the audio, then
// transformer layers. Shape letters: B batch, S samples, C channels, T frames, H width, N heads.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "wav2vec2_layers.h"

namespace s2s::wav2vec2 {

class Wav2Vec2 : public Encoder, public RunsReferences {
 public:
  /// place: of the options in the config; weights_path: "" for random weights.
  Wav2Vec2(const Wav2Vec2Options& options, const std::string& place, std::string weights_path);
  ~Wav2Vec2() override;

  /// Audio [1, S] -> transformers' hidden_states: what the first layer gets, the output of each
  /// layer but the last, and the encoder's own output.
  std::vector<at::Tensor> hidden_states(const at::Tensor& audio_1S);
  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override;
  int64_t output_frames(int64_t num_samples) const override { return options_.frames(num_samples); }
  int64_t output_width(int64_t num_samples) const override { return options_.frames(num_samples); }
  int64_t output_dim() const override { return options_.hidden_size * outputs_.count(); }
  /// Outputs of layers are transformers' hidden_states; the form with norms first has a last norm
  /// after them.
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
  /// Inputs: audio [B, S], lengths. Outputs: `normalised` [B, S], conv_features [B, T, C] of the
  /// convolutions, layer_1 (after the first layer), features, lengths.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  at::Tensor output_frames(const at::Tensor& lengths_B) const;
  /// Audio in the type of the weights, zeros beyond each row's length.
  at::Tensor prepared(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const;
  /// frames_B: valid ones of each row, on the device of x. states: get what goes into each layer.
  at::Tensor encode(const at::Tensor& x_BTC, const at::Tensor& frames_B,
                    const LayerOutputs& outputs, std::vector<at::Tensor>* states = nullptr);
  /// Frames of prepared audio, whole or in pieces. frames_B: as for `encode`.
  at::Tensor features(const at::Tensor& audio_BS, const at::Tensor& frames_B,
                      const LayerOutputs& outputs);
  /// Operations of rows that are encoded whole.
  double whole_flops(int64_t rows, int64_t num_samples) const;

  Wav2Vec2Options options_;
  std::string place_, weights_path_;
  LayerOutputs outputs_;
  FeatureEncoder feature_encoder_;
  std::unique_ptr<LayerNorm> feature_norm_;  // null: HuBERT without one
  Linear projection_;
  PositionalConv positions_;
  LayerNorm norm_;
  std::vector<std::unique_ptr<EncoderLayer>> layers_;
  std::vector<std::unique_ptr<GatedLayer>> gated_layers_;  // WavLM's
  std::unique_ptr<Embedding> relative_positions_;          // WavLM's
};

}  // namespace s2s::wav2vec2
