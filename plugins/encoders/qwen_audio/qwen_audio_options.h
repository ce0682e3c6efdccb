#pragma once
// Options of the audio towers of Qwen2-Audio and Qwen3-Omni, under the names of Hugging Face's
// config.json (its block audio_config) and preprocessor_config.json.

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/nn/speech_encoder.h"
#include "s2s/options.h"

namespace s2s::qwen_audio {

/// The two models.
enum class Family { kQwen2, kQwen3Omni };
/// The component's name.
const char* name_of(Family family);

struct QwenAudioOptions {
  Family family = Family::kQwen2;  // chosen by the component's name, not a key

  std::optional<std::string> path;
  int64_t num_mel_bins = 128;
  int64_t d_model = 1280;
  int64_t encoder_layers = 32;
  int64_t encoder_attention_heads = 20;
  int64_t encoder_ffn_dim = 5120;
  int64_t max_source_positions = 1500;
  std::string activation_function = "gelu";
  double dropout = 0;             // Qwen2-Audio
  double activation_dropout = 0;  // Qwen2-Audio
  double attention_dropout = 0;
  int64_t n_window_infer = 800;          // Qwen3-Omni
  int64_t output_dim = 3584;             // Qwen3-Omni
  int64_t downsample_hidden_size = 480;  // Qwen3-Omni
  int64_t sampling_rate = 16000;
  int64_t hop_length = 160;
  int64_t n_fft = 400;

  void visit(OptionVisitor& v);
  bool is_omni() const { return family == Family::kQwen3Omni; }
  EncoderLayerSpec layer() const;
  WhisperFeatures::Sizes features() const {
    return {sampling_rate, n_fft, hop_length, num_mel_bins};
  }
};

QwenAudioOptions defaults_of(Family family);
/// Errors: [encoder/sizes], all findings together.
void check(const QwenAudioOptions& options, const std::string& path);

/// Options from the config.json of a model that contains the tower, or of the tower; its block
/// `preprocessor`, where there is one, is the preprocessor_config.json. Errors: [weights/config].
Config options_from_hf(Family family, const Config& foreign);

}  // namespace s2s::qwen_audio
