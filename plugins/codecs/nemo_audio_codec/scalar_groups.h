#pragma once
// Finite scalar quantization of groups of a latent, with the same levels in each group. Source:
// NeMo's GroupFiniteScalarQuantizer. Shape letters: B batch, K groups, T frames, D elements of a
// latent.

#include "nemo_audio_codec_options.h"
#include "s2s/nn/audio.h"

namespace s2s::nemo_audio_codec {

/// It has no weights: NeMo's buffers repeat the options.
class ScalarGroups {
 public:
  explicit ScalarGroups(const QuantizerOptions& options)
      : options_(options), levels_(options.num_levels_per_group) {}
  int64_t codebook_size() const { return levels_.codebook_size(); }
  /// latents [B, D, T] -> codes [B, K, T] int64.
  at::Tensor encode(const at::Tensor& latents_BDT) const;
  /// codes [B, K, T] -> latents [B, D, T] float32.
  at::Tensor decode(const at::Tensor& codes_BKT) const;

 private:
  QuantizerOptions options_;
  ScalarLevels levels_;
};

}  // namespace s2s::nemo_audio_codec
