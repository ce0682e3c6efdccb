#include "family.h"

namespace PLUGIN_NAME {
namespace {

using enum s2s::Layout;
using enum s2s::Style;
// key/value heads may be replicated on several ranks
constexpr const char* kKvHeads = "num_key_value_heads";

}  // namespace

// clang-format off
std::vector<s2s::TensorRow> Family::tensor_rows(const s2s::DecoderSpec&) {
  return {
      // module                             style      in     out
      {"layers.0",                          kBoundary, kFull, kSeq },
      {"layers.*.input_layernorm",          kSequence, kSeq,  kSeq },
      {"layers.*.self_attn",                kBoundary, kSeq,  kFull},
      {"layers.*.self_attn.q_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.k_proj",         kColwise,  kFull, kLast, kKvHeads},
      {"layers.*.self_attn.v_proj",         kColwise,  kFull, kLast, kKvHeads},
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

s2s::Config Family::from_hf(const s2s::Config& foreign) {
  s2s::ConfigRules rules;
  rules.model_types = {"PLUGIN_NAME"};
  rules.rope_types = s2s::all_rope_types();
  return s2s::decoder_from_hf(foreign, rules);
}

s2s::DecoderSpec Family::spec_of(const Options& options, const std::string& path) {
  return s2s::decoder_spec(options, s2s::all_rope_types(), path);
}

}  // namespace PLUGIN_NAME
