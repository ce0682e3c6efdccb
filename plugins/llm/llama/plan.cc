#include "plan.h"

namespace s2s::llama {
namespace {

constexpr Style kBoundary = Style::kBoundary, kSequence = Style::kSequence;
constexpr Style kColwise = Style::kColwise, kRowwise = Style::kRowwise;
constexpr Layout kFull = Layout::kFull, kSeq = Layout::kSeq, kLast = Layout::kLast;
constexpr const char* kKvHeads = "num_key_value_heads";  // may be on several ranks each

}  // namespace

// clang-format off
std::vector<TensorRow> tensor_rows() {
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

std::vector<UnitRow> unit_rows() { return {{"layers.*"}}; }

}  // namespace s2s::llama
