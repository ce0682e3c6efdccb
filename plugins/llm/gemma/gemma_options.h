#pragma once

#include <string>
#include <vector>

#include "s2s/nn/decoder_options.h"

namespace s2s::gemma {

/// Gemma's options in addition to those of all decoders. `model_type` determines the number of
/// norms per layer and whether queries and keys are normed. All other differences are options.
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

/// Defaults before the config's own keys are read: those of its preset, or else of its model type.
GemmaOptions defaults_for(const Config& node);

/// Errors: those of decoder_spec and of set_windows.
DecoderSpec spec_of(const GemmaOptions& options, const std::string& path);

/// Converts config.json to options. Errors: [weights/config].
Config from_hf(const Config& foreign);

/// The inverse: the config.json with which transformers computes the same model; null if it has no
/// class for it. `spec`: the spec of the options.
Config to_hf(const GemmaOptions& options, const DecoderSpec& spec);

}  // namespace s2s::gemma
