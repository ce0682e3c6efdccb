#pragma once

#include <string>
#include <vector>

#include "s2s/nn/decoder_options.h"

namespace s2s::qwen {

/// Qwen's options in addition to those of all decoders. `model_type` determines which layers have
/// biases and whether queries and keys are normed.
struct QwenOptions : DecoderOptions {
  std::string preset = "none";
  std::string model_type = "qwen3";
  bool use_sliding_window = false;
  int64_t max_window_layers = 28;
  WindowOptions windows;
  void visit(OptionVisitor& v);
};

/// Defaults before the config's own keys are read: those of its preset.
QwenOptions defaults_for(const Config& node);

/// Errors: those of decoder_spec and of set_windows.
DecoderSpec spec_of(const QwenOptions& options, const std::string& path);

/// Converts config.json to options. Errors: [weights/config].
Config from_hf(const Config& foreign);

/// The inverse: the config.json with which transformers computes the same model; null if it has no
/// class for it. `spec`: the spec of the options.
Config to_hf(const QwenOptions& options, const DecoderSpec& spec);

}  // namespace s2s::qwen
