#pragma once

#include <string>
#include <vector>

#include "s2s/nn/decoder_options.h"
#include "s2s/parallel/plan.h"

namespace s2s::gemma {

/// Gemma's options beside those that all decoders have. Which model it is (`model_type`) says how
/// many norms a layer has and whether queries and keys are normed; the rest is said by numbers.
struct GemmaOptions : DecoderOptions {
  std::string preset = "none";
  std::string model_type = "gemma3_text";
  WindowOptions windows;
  std::optional<int64_t> sliding_window_pattern;
  std::optional<double> query_pre_attn_scalar;
  std::optional<double> attn_logit_softcapping;
  std::optional<double> final_logit_softcapping;
  double rope_local_base_freq = 10000.0;
  void visit(OptionVisitor& v);
};

/// Defaults before the config's own keys: those of the preset or else of the model type that it
/// names.
GemmaOptions defaults_for(const Config& node);

/// Errors: those of decoder_spec and of set_windows.
DecoderSpec spec_of(const GemmaOptions& options, const std::string& path);

/// config.json as options.  Errors: [weights/config].
Config from_hf(const Config& foreign);

/// The inverse: a config.json with which transformers computes the same; null where it has no class
/// for it. `spec`: those of the options.
Config to_hf(const GemmaOptions& options, const DecoderSpec& spec);

/// Tensor and sequence parallel rows of the decoder proper.
std::vector<TensorRow> tensor_rows(const DecoderSpec& spec);

}  // namespace s2s::gemma
