#include "plan.h"

namespace s2s::gemma {
namespace {

constexpr Style kBoundary = Style::kBoundary, kSequence = Style::kSequence;
constexpr Style kColwise = Style::kColwise, kRowwise = Style::kRowwise;
constexpr Style kPerHead = Style::kPerHead;
constexpr Layout kFull = Layout::kFull, kSeq = Layout::kSeq, kLast = Layout::kLast;

// clang-format off
const TensorRow kRows[] = {
    // module                               style      in     out
    {"layers.0",                            kBoundary, kFull, kSeq },
    {"layers.*.input_layernorm",            kSequence, kSeq,  kSeq },
    {"layers.*.self_attn",                  kBoundary, kSeq,  kFull},
    {"layers.*.self_attn.q_proj",           kColwise,  kFull, kLast},
    {"layers.*.self_attn.k_proj",           kColwise,  kFull, kLast},
    {"layers.*.self_attn.v_proj",           kColwise,  kFull, kLast},
    {"layers.*.self_attn.o_proj",           kRowwise,  kLast, kSeq },
    {"layers.*.post_attention_layernorm",   kSequence, kSeq,  kSeq },
    {"layers.*.mlp",                        kBoundary, kSeq,  kFull},
    {"layers.*.mlp.gate_proj",              kColwise,  kFull, kLast},
    {"layers.*.mlp.up_proj",                kColwise,  kFull, kLast},
    {"layers.*.mlp.down_proj",              kRowwise,  kLast, kSeq },
    {"norm",                                kSequence, kSeq,  kSeq },
};
/// Gemma 2 and 3.
const TensorRow kPostNormRows[] = {
    {"layers.*.pre_feedforward_layernorm",  kSequence, kSeq,  kSeq },
    {"layers.*.post_feedforward_layernorm", kSequence, kSeq,  kSeq },
};
/// Gemma 3.
const TensorRow kHeadNormRows[] = {
    {"layers.*.self_attn.q_norm",           kPerHead,  kLast, kLast},
    {"layers.*.self_attn.k_norm",           kPerHead,  kLast, kLast},
};
// clang-format on

}  // namespace

std::vector<TensorRow> tensor_rows(const DecoderFacts& facts) {
  std::vector<TensorRow> rows(std::begin(kRows), std::end(kRows));
  if (facts.post_norms) {
    rows.insert(rows.end(), std::begin(kPostNormRows), std::end(kPostNormRows));
  }
  if (facts.qk_norm) rows.insert(rows.end(), std::begin(kHeadNormRows), std::end(kHeadNormRows));
  return rows;
}

}  // namespace s2s::gemma
