#pragma once
// The audio towers of Qwen2-Audio and Qwen3-Omni as transformers has them. Shape letters: B rows, S
// samples, F mel bands, M mel frames, T frames, H width.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "qwen_audio_options.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::qwen_audio {

/// What both towers have: features, layers, names, outputs for reference files.
class AudioTower : public Encoder, public RunsReferences {
 public:
  /// place: of the options in the config; weights_path: "" for random weights.
  AudioTower(const QwenAudioOptions& options, const std::string& place, std::string weights_path);
  ~AudioTower() override;

  int64_t output_frames(int64_t num_samples) const override {
    return frames_of(features_.frames(num_samples));
  }
  int64_t output_width(int64_t num_samples) const override { return output_frames(num_samples); }
  int64_t sample_rate_hz() const override { return options_.sampling_rate; }
  /// Errors: [encoder/not-streamable].
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) override;
  /// Inputs: audio [B, S] and lengths, or mel [B, F, M] and mel_lengths. Outputs: mel, mel_lengths,
  /// features, lengths, layer_1 (after the first layer; Qwen2-Audio's is at the rate before
  /// pooling, and is not given).
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;
  /// Frames of so many mel frames.
  virtual int64_t frames_of(int64_t num_mel_frames) const = 0;
  virtual at::Tensor frames_of(const at::Tensor& mel_lengths_B) const = 0;
  /// Mel features [B, F, M], and their number in each row.
  struct Mel {
    at::Tensor mel_BFM, lengths_B;
  };
  /// Of audio as transformers' front end gives them for a batch.
  virtual Mel mel_of(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const = 0;
  /// `longest`: mel frames of the longest row.
  virtual at::Tensor encode(const Mel& mel, int64_t longest, const LayerOutputs& outputs) = 0;
  at::Tensor run_layer(int64_t index, const at::Tensor& x_BTH, const at::Tensor& seen) {
    return (*layers_[static_cast<size_t>(index)])(x_BTH, seen);
  }
  /// The maps of names for parts at "encoder.", with the names of checkpoints.
  NameMap names_of(const std::vector<std::pair<std::string, std::string>>& parts) const;

  QwenAudioOptions options_;
  std::string place_, weights_path_;
  LayerOutputs outputs_;
  WhisperFeatures features_;
  std::vector<std::unique_ptr<EncoderLayer>> layers_;
  LayerNorm norm_;
};

/// The tower of Qwen2-Audio: Whisper's, with frames averaged in pairs. Audio of any length is cut
/// into windows (30 s), each of which is encoded by itself; the frames are joined.
std::unique_ptr<Encoder> make_qwen2(const QwenAudioOptions& options, const std::string& place);

/// The tower of Qwen3-Omni: a second of audio goes through convolutions by itself, and frames of
/// `n_window_infer` mel frames attend to each other.
std::unique_ptr<Encoder> make_qwen3_omni(const QwenAudioOptions& options, const std::string& place);

}  // namespace s2s::qwen_audio
