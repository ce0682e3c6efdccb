// Floating-point operations of a micro-batch, by formula.

#include <c10/util/accumulate.h>

#include <algorithm>
#include <set>

#include "salm_model.h"

namespace s2s::salm {
namespace {

/// Elements of the matrices of a part, each multiplied with every position that the part sees.
struct Matrices {
  double all = 0;
  double trained = 0;  // of these; their gradient is one more product
  void add(const NamedTensor& parameter) {
    const auto count = static_cast<double>(c10::multiply_integers(parameter.sizes));
    all += count;
    if (parameter.tensor->requires_grad()) trained += count;
  }
  /// Two for each element in the forward, and for each gradient.
  double flops(int64_t positions) const {
    return static_cast<double>(positions) * (4 * all + 2 * trained);
  }
};

}  // namespace

/// The decoder counts at every position with padding, the head where there are labels, and what is
/// between encoder and decoder for every frame of audio. Attention has two products over all pairs,
/// and each has two gradients: 12 L H S.
/// Source: Chowdhery et al. 2022 (arxiv.org/abs/2204.02311), appendix B.
void SalmModel::add_flops(const SalmBatch& batch, const MixedRows& rows, BatchWeight& weight) {
  std::set<const at::Tensor*> of_encoder;
  bool trains_encoder = false;
  for (const NamedTensor& parameter : perception_.encoder().named_parameters()) {
    of_encoder.insert(parameter.tensor);
    trains_encoder |= parameter.tensor->requires_grad();
  }
  const BackboneShape& shape = parts_.llm->shape();
  const std::string head = shape.tied_head ? "embed_tokens." : "llm.lm_head.";
  Matrices of_head, of_decoder, of_audio;
  for (const NamedTensor& parameter : named_parameters()) {
    const std::string& name = parameter.name;
    if (parameter.sizes.size() < 2 || of_encoder.contains(parameter.tensor)) continue;
    if (name.starts_with(head)) {
      of_head.add(parameter);
    } else if (name.starts_with("perception.")) {
      of_audio.add(parameter);
    } else if (!name.starts_with("embed_tokens.")) {
      of_decoder.add(parameter);
    }
  }
  int64_t num_frames = 0, num_chunks = 0, longest = 0;
  const at::Tensor lens_A = batch.audio_lens_A.to(at::kCPU, at::kLong).contiguous();
  const std::vector<int64_t> audio_lens(lens_A.const_data_ptr<int64_t>(),
                                        lens_A.const_data_ptr<int64_t>() + lens_A.numel());
  for (const std::vector<int64_t>& chunks : split_lengths(audio_lens, chunks_)) {
    num_chunks += static_cast<int64_t>(chunks.size());
    for (const int64_t length : chunks) {
      num_frames += perception_.output_frames(length);
      longest = std::max(longest, length);
    }
  }
  const auto queries =
      static_cast<double>(shape.num_layers * shape.num_attention_heads * shape.head_dim);
  const auto width = static_cast<double>(rows.width());
  weight.model_flops = of_decoder.flops(rows.source_BL.numel()) + of_head.flops(rows.num_labels) +
                       of_audio.flops(num_frames) +
                       12 * queries * static_cast<double>(rows.source_BL.numel()) * width;
  if (num_chunks == 0) return;
  weight.encoder_flops =
      (trains_encoder ? 3 : 1) * perception_.encoder().forward_flops(num_chunks, longest);
}

}  // namespace s2s::salm
