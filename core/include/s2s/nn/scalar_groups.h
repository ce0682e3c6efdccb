#pragma once
// Finite scalar quantization (FSQ) of groups of a latent, with the same levels in each group.
// Formulas and codes are those of NeMo's GroupFiniteScalarQuantizer. Shape letters: B batch, K
// groups, T frames, D elements of a latent.

#include <cstdint>
#include <utility>
#include <vector>

#include "s2s/nn/audio.h"

namespace s2s {

/// It has no weights. A latent has a number for each level count of each group.
class ScalarGroups {
 public:
  /// eps: shrinks the range a little, so that its ends round to a level.
  ScalarGroups(int64_t num_groups, std::vector<int64_t> level_counts, double eps = 1e-3)
      : num_groups_(num_groups), levels_(std::move(level_counts)), eps_(eps) {}
  int64_t num_groups() const { return num_groups_; }
  int64_t codebook_size() const { return levels_.codebook_size(); }
  /// D of latents.
  int64_t width() const { return num_groups_ * static_cast<int64_t>(levels_.counts().size()); }
  /// latents [B, D, T] -> codes [B, K, T] int64.
  at::Tensor encode(const at::Tensor& latents_BDT) const;
  /// codes [B, K, T] -> latents [B, D, T] float32, from -1 to 1.
  at::Tensor decode(const at::Tensor& codes_BKT) const;
  /// latents [B, D, T] -> those of their codes. The gradient is that without rounding (straight
  /// through).
  at::Tensor quantize(const at::Tensor& latents_BDT) const;

 private:
  /// [B, K, T, L], of which the nearest integer is the level, counted from the middle one.
  at::Tensor compressed(const at::Tensor& latents_BDT) const;
  /// The middle level of each number, [L].
  at::Tensor middle_like(const at::Tensor& x) const;

  int64_t num_groups_;
  ScalarLevels levels_;
  double eps_;
};

}  // namespace s2s
