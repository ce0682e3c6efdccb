#pragma once

#include <string>
#include <vector>

#include "s2s/nn/decoder_options.h"
#include "s2s/parallel/plan.h"

namespace s2s::qwen {

/// Qwen's options beside those that all decoders have. `model_type` says where biases are and
/// whether queries and keys are normed.
struct QwenOptions : DecoderOptions {
  std::string preset = "none";
  std::string model_type = "qwen3";
  bool use_sliding_window = false;
  int64_t max_window_layers = 28;
  WindowOptions windows;
  void visit(OptionVisitor& v);
};

/// Defaults before the config's own keys: those of the preset that it names.
QwenOptions defaults_for(const Config& node);

/// Errors: those of decoder_spec and of set_windows.
DecoderSpec spec_of(const QwenOptions& options, const std::string& path);

/// config.json as options.  Errors: [weights/config].
Config from_hf(const Config& foreign);

/// The inverse: a config.json with which transformers computes the same; null where it has no class
/// for it. `spec`: those of the options.
Config to_hf(const QwenOptions& options, const DecoderSpec& spec);

/// Tensor and sequence parallel rows of the decoder proper.
std::vector<TensorRow> tensor_rows(const DecoderSpec& spec);

}  // namespace s2s::qwen
