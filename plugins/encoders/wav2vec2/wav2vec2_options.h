#pragma once
// Options of wav2vec 2.0, HuBERT and WavLM, under the names of Hugging Face's config.json and
// preprocessor_config.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/speech_encoder.h"
#include "s2s/options.h"

namespace s2s::wav2vec2 {

/// The three models, which differ in few layers.
enum class Family { kWav2Vec2, kHubert, kWavLm };
/// The component's name, which is also the model_type of config.json.
const char* name_of(Family family);

struct Wav2Vec2Options {
  Family family = Family::kWav2Vec2;  // chosen by the component's name, not a key

  std::optional<std::string> path;
  std::string preset = "none";
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";
  double hidden_dropout = 0.1;
  double activation_dropout = 0.1;
  double attention_dropout = 0.1;
  double feat_proj_dropout = 0;
  double layer_norm_eps = 1e-5;
  std::string feat_extract_norm = "group";
  std::string feat_extract_activation = "gelu";
  std::vector<int64_t> conv_dim = {512, 512, 512, 512, 512, 512, 512};
  std::vector<int64_t> conv_stride = {5, 2, 2, 2, 2, 2, 2};
  std::vector<int64_t> conv_kernel = {10, 3, 3, 3, 3, 2, 2};
  bool conv_bias = false;
  int64_t num_conv_pos_embeddings = 128;
  int64_t num_conv_pos_embedding_groups = 16;
  bool do_stable_layer_norm = false;
  bool feat_proj_layer_norm = true;   // HuBERT
  int64_t num_buckets = 320;          // WavLM
  int64_t max_bucket_distance = 800;  // WavLM
  int64_t sampling_rate = 16000;
  bool do_normalize = true;
  std::optional<std::string> return_attention_mask;
  double chunk_length_s = 0;

  void visit(OptionVisitor& v);
  /// Whether padding is hidden from the layers.
  bool has_mask() const;
  bool is_wavlm() const { return family == Family::kWavLm; }
  EncoderLayerSpec layer() const;
  /// Samples from one frame to the next.
  int64_t hop() const;
  /// Frames of so many samples.
  int64_t frames(int64_t num_samples) const;
  /// Samples of so many frames, of which there is at least one.
  int64_t samples(int64_t num_frames) const;
  /// Frames of a piece of a long recording; 0: recordings are encoded whole.
  int64_t piece_frames() const;
};

/// The options before the config's own keys are read: those of its preset.
Wav2Vec2Options defaults_of(Family family, const Config& node);
/// Errors: [encoder/sizes], all findings together.
void check(const Wav2Vec2Options& options, const std::string& path);

/// Options from a config.json of the family; its block `preprocessor`, where there is one, is the
/// preprocessor_config.json. Errors: [weights/config].
Config options_from_hf(Family family, const Config& foreign);

}  // namespace s2s::wav2vec2
