#include "family.h"

namespace PLUGIN_NAME {
namespace {

using s2s::Layout;
using s2s::Style;

constexpr Style kBoundary = Style::kBoundary, kSequence = Style::kSequence;
constexpr Style kColwise = Style::kColwise, kRowwise = Style::kRowwise;
constexpr Layout kFull = Layout::kFull, kSeq = Layout::kSeq, kLast = Layout::kLast;

// clang-format off
std::vector<s2s::TensorRow> tensor_rows() {
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
      {"norm",                              kSequence, kSeq,  kSeq },
  };
}
// clang-format on

}  // namespace

s2s::ShardPlan Family::configure_model(const s2s::MeshShape&) const {
  return plan_with(tensor_rows(), {{"layers.*"}});
}

s2s::Config translate(const s2s::Config& foreign) {
  s2s::ConfigRules rules;
  rules.model_types = {"PLUGIN_NAME"};
  rules.rope_types = s2s::all_rope_types();
  return s2s::translate_decoder_config(foreign, rules);
}

std::unique_ptr<s2s::Backbone> create(const s2s::Config& options,
                                      const s2s::BuildContext& context) {
  const s2s::Config node = s2s::with_folder_config(options, context, translate);
  const auto read = s2s::read_options<Options>(node, context.path);
  return std::make_unique<Family>(s2s::decoder_facts(read, s2s::all_rope_types(), context.path));
}

}  // namespace PLUGIN_NAME
