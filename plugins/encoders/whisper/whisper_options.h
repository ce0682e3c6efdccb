#pragma once
// Options of the encoder, under the names of Hugging Face's config.json and
// preprocessor_config.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/speech_encoder.h"
#include "s2s/options.h"

namespace s2s::whisper {

struct WhisperOptions {
  std::optional<std::string> path;
  std::string preset = "none";
  int64_t num_mel_bins = 80;
  int64_t d_model = 384;
  int64_t encoder_layers = 4;
  int64_t encoder_attention_heads = 6;
  int64_t encoder_ffn_dim = 1536;
  int64_t max_source_positions = 1500;
  std::string activation_function = "gelu";
  double dropout = 0;
  double attention_dropout = 0;
  double activation_dropout = 0;
  int64_t sampling_rate = 16000;
  int64_t hop_length = 160;
  int64_t n_fft = 400;

  void visit(OptionVisitor& v);
  /// Mel frames and samples of a window.
  int64_t window_frames() const { return 2 * max_source_positions; }
  int64_t window_samples() const { return window_frames() * hop_length; }
  EncoderLayerSpec layer() const;
};

/// Options of the recognizer, whose model is that of a folder.
struct WhisperScorerOptions {
  std::optional<std::string> path;
  Config model;
  std::optional<std::string> language, task;
  bool return_timestamps = false;
  std::vector<double> temperature = {0};
  std::optional<double> compression_ratio_threshold, logprob_threshold, no_speech_threshold;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  int64_t seed = 0;
  bool condition_on_prev_tokens = false;
  std::string prompt_condition_type = "first-segment";
  std::vector<int64_t> prompt_ids;
  int64_t batch_size = 16;

  void visit(OptionVisitor& v);
};

/// The options before the config's own keys are read: those of its preset.
WhisperOptions defaults_of(const Config& node);
/// Errors: [encoder/sizes], all findings together.
void check(const WhisperOptions& options, const std::string& path);

/// Options from a config.json of Whisper; its block `preprocessor`, where there is one, is the
/// preprocessor_config.json. Errors: [weights/config].
Config whisper_from_hf(const Config& foreign);

}  // namespace s2s::whisper
