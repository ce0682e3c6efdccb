#include "mistral.h"

namespace acme_mistral {

using enum s2s::Layout;
using enum s2s::Style;

// clang-format off
std::vector<s2s::TensorRow> Mistral::tensor_rows(const s2s::DecoderSpec&) {
  return {
      // module                             style      in     out
      {"layers.0",                          kBoundary, kFull, kSeq },
      {"layers.*.input_layernorm",          kSequence, kSeq,  kSeq },
      {"layers.*.self_attn",                kBoundary, kSeq,  kFull},
      {"layers.*.self_attn.q_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.k_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.v_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.o_proj",         kRowwise,  kLast, kSeq },
      {"layers.*.post_attention_layernorm", kSequence, kSeq,  kSeq },
      {"layers.*.mlp",                      kBoundary, kSeq,  kFull},
      {"layers.*.mlp.gate_proj",            kColwise,  kFull, kLast},
      {"layers.*.mlp.up_proj",              kColwise,  kFull, kLast},
      {"layers.*.mlp.down_proj",            kRowwise,  kLast, kSeq },
      {"norm",                              kSequence, kSeq,  kFull},
  };
}
// clang-format on

s2s::Config Mistral::from_hf(const s2s::Config& foreign) {
  s2s::ConfigRules rules;
  rules.model_types = {"mistral"};
  rules.rope_types = s2s::all_rope_types();
  rules.options = {"sliding_window"};
  return s2s::decoder_from_hf(foreign, rules);
}

s2s::DecoderSpec Mistral::spec_of(const Options& options, const std::string& path) {
  s2s::DecoderSpec spec = s2s::decoder_spec(options, s2s::all_rope_types(), path);
  const bool has_window = options.windows.sliding_window.has_value();
  const auto num_layers = static_cast<size_t>(spec.shape.num_layers);
  s2s::set_windows(options.windows, std::vector<bool>(num_layers, has_window), path, spec);
  return spec;
}

std::vector<s2s::PromptFormat> Mistral::prompt_formats() {
  s2s::PromptFormat format{"acme.mistral",
                           {{"user", "[INST] ", " [/INST]"}, {"assistant", "", "", false, true}}};
  format.has_bos = true;
  return {format};
}

}  // namespace acme_mistral
