#pragma once
// Mimi's quantizer: two residual quantizers of the same latents, a semantic and an acoustic one.
// Shape letters: B batch, H hidden, D elements of an entry, T frames, K codebooks.

#include <memory>
#include <vector>

#include "mimi_options.h"
#include "s2s/nn/audio.h"

namespace s2s::mimi {

/// The entries of a codebook, stored as sums and counts of what training assigned to them.
class Codebook : public Block {
 public:
  explicit Codebook(const MimiOptions& options);
  ~Codebook() override;
  at::Tensor entries() const;

 protected:
  void reset_buffers() override;

 private:
  int64_t size_, width_;
  at::Tensor embed_sum_, cluster_usage_, initialized_;
};

/// Every book is for what the books before it left.
class ResidualQuantizer : public Block {
 public:
  ResidualQuantizer(const MimiOptions& options, int64_t books);
  ~ResidualQuantizer() override;
  /// latents [B, H, T] -> the first `books` codes [B, K, T].
  at::Tensor encode(const at::Tensor& latents_BHT, int64_t books) const;
  /// codes [B, K, T] of the first books -> [B, H, T].
  at::Tensor decode(const at::Tensor& codes_BKT) const;
  /// The sum of no frames, [B, H, 0].
  at::Tensor none(int64_t batch_size) const;

 private:
  std::vector<at::Tensor> entries(int64_t books) const;

  int64_t width_;
  std::unique_ptr<StoredWeight> input_proj_, output_proj_;  // null where the widths are equal
  std::vector<std::unique_ptr<Codebook>> books_;
};

class SplitQuantizer : public Block {
 public:
  explicit SplitQuantizer(const MimiOptions& options);
  ~SplitQuantizer() override;
  at::Tensor encode(const at::Tensor& latents_BHT, int64_t books) const;
  at::Tensor decode(const at::Tensor& codes_BKT) const;

 private:
  int64_t semantic_books_;
  ResidualQuantizer semantic_, acoustic_;
};

}  // namespace s2s::mimi
