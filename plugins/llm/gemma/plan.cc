#include "options.h"

namespace s2s::gemma {
namespace {

using enum Layout;
using enum Style;
// key/value heads may be replicated on several ranks
constexpr const char* kKvHeads = "num_key_value_heads";

// clang-format off
/// Rows of Gemma 3, in execution order. Gemma 1 and 2 have fewer norms.
const TensorRow kRows[] = {
    // module                               style      in     out
    {"layers.0",                            kBoundary, kFull, kSeq },
    {"layers.*.input_layernorm",            kSequence, kSeq,  kSeq },
    {"layers.*.self_attn",                  kBoundary, kSeq,  kFull},
    {"layers.*.self_attn.q_proj",           kColwise,  kFull, kLast},
    {"layers.*.self_attn.q_norm",           kPerHead,  kLast, kLast},
    {"layers.*.self_attn.k_proj",           kColwise,  kFull, kLast, kKvHeads},
    {"layers.*.self_attn.k_norm",           kPerHead,  kLast, kLast},
    {"layers.*.self_attn.v_proj",           kColwise,  kFull, kLast, kKvHeads},
    {"layers.*.self_attn.o_proj",           kRowwise,  kLast, kSeq },
    {"layers.*.post_attention_layernorm",   kSequence, kSeq,  kSeq },
    {"layers.*.pre_feedforward_layernorm",  kSequence, kSeq,  kSeq },
    {"layers.*.mlp",                        kBoundary, kSeq,  kFull},
    {"layers.*.mlp.gate_proj",              kColwise,  kFull, kLast},
    {"layers.*.mlp.up_proj",                kColwise,  kFull, kLast},
    {"layers.*.mlp.down_proj",              kRowwise,  kLast, kSeq },
    {"layers.*.post_feedforward_layernorm", kSequence, kSeq,  kSeq },
    {"norm",                                kSequence, kSeq,  kFull},
};
// clang-format on

}  // namespace

std::vector<TensorRow> tensor_rows(const DecoderSpec& spec) {
  std::vector<TensorRow> rows;
  for (const TensorRow& row : kRows) {
    const bool is_post_norm = row.module.ends_with("_feedforward_layernorm");
    const bool is_head_norm = row.style == kPerHead;
    if ((is_post_norm && !spec.post_norms) || (is_head_norm && !spec.qk_norm)) continue;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace s2s::gemma
