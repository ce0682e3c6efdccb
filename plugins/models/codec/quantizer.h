#pragma once
// Quantizers of latents. Residual vector quantization has codebooks of moving averages, under the
// names of transformers' EncodecModel: statistics of a step move the codebooks at the next one, so
// that all micro-batches of a step have the same codebooks. Finite scalar quantization has no
// weights. Shape letters: B rows, D width, T frames, N latents, V entries, K codebooks, M numbers
// of statistics.

#include <functional>
#include <memory>
#include <vector>

#include "codec_options.h"
#include "s2s/nn/block.h"

namespace s2s::codec {

/// A codebook: the mean of the latents that have each of its codes, of moving averages.
class Codebook : public Block {
 public:
  /// seed: of the entries before the first step.
  Codebook(int64_t size, int64_t width, uint64_t seed);
  ~Codebook() override;
  const at::Tensor& entries_VD() const { return embed_VD_; }
  int64_t size() const { return size_; }
  int64_t width() const { return width_; }
  /// How many numbers its statistics have: a count and a sum for each code, and an error.
  int64_t num_statistics() const { return size_ * (width_ + 1) + 1; }
  /// Of latents with these codes; weight_N: 0 leaves a latent out.
  at::Tensor statistics(const at::Tensor& latents_ND, const at::Tensor& code_N,
                        const at::Tensor& weight_N) const;
  /// Counts of a book's statistics, [V].
  at::Tensor counts_of(const at::Tensor& statistics) const;
  /// Moves the averages by the statistics of a step. A code that is used less than
  /// `dead_code_share` of the mean takes half of a frequent code and a place beside it, along its
  /// row of noise. Statistics without a latent change nothing.
  void move(const at::Tensor& statistics, const at::Tensor& noise_VD, const CodecOptions& options);

 protected:
  void reset_buffers() override;

 private:
  /// Averages after a step.
  struct Averages {
    at::Tensor size_V, sum_VD;
  };
  Averages with_dead_replaced(const Averages& moved, const at::Tensor& spread,
                              const at::Tensor& noise_VD, double dead_code_share) const;

  int64_t size_, width_;
  uint64_t seed_;
  at::Tensor inited_, cluster_size_V_, embed_VD_, embed_avg_VD_;
};

/// What quantization gives training.
struct Quantized {
  at::Tensor sum_BDT;     // of the entries; its gradient goes to the latents (straight through)
  at::Tensor commit_B;    // mean square distance of what books quantize to its entries; or none
  at::Tensor perplexity;  // of the codes, mean of the books; a number without gradient
};

/// How latents become codes.
class Quantizer : public Block {
 public:
  using SumOverRanks = std::function<at::Tensor(const at::Tensor&)>;
  ~Quantizer() override;
  /// Once per step, before the others. Default: nothing.
  virtual void begin_step([[maybe_unused]] int64_t step) {}
  /// latents [B, D, T]; books_B: how many of the first books a row uses, int64.
  virtual Quantized quantize(const at::Tensor& latents_BDT, const at::Tensor& books_B) const = 0;
  /// The same in a step of training. sum: over ranks; may be empty. Default: nothing is kept.
  virtual Quantized learn(const at::Tensor& latents_BDT, const at::Tensor& books_B,
                          [[maybe_unused]] const SumOverRanks& sum) {
    return quantize(latents_BDT, books_B);
  }
  /// latents [B, D, T] -> codes [B, K, T] of all books.
  virtual at::Tensor encode(const at::Tensor& latents_BDT) const = 0;
  /// codes [B, K, T] of the first books -> latents [B, D, T].
  virtual at::Tensor decode(const at::Tensor& codes_BKT) const = 0;
};

/// The quantizer of `options.quantizer`.
std::unique_ptr<Quantizer> make_quantizer(const CodecOptions& options);

/// Each book is for what the books before it left.
class ResidualBooks : public Quantizer {
 public:
  explicit ResidualBooks(const CodecOptions& options);
  ~ResidualBooks() override;
  /// Moves the codebooks by the statistics of the step before.
  void begin_step(int64_t step) override;
  Quantized quantize(const at::Tensor& latents_BDT, const at::Tensor& books_B) const override;
  /// Keeps the statistics for the next step unless they are not finite.
  Quantized learn(const at::Tensor& latents_BDT, const at::Tensor& books_B,
                  const SumOverRanks& sum) override;
  at::Tensor encode(const at::Tensor& latents_BDT) const override;
  at::Tensor decode(const at::Tensor& codes_BKT) const override;

 protected:
  void reset_buffers() override;

 private:
  Quantized pass(const at::Tensor& latents_BDT, const at::Tensor& books_B,
                 std::vector<at::Tensor>* statistics) const;
  std::vector<at::Tensor> entries(int64_t books) const;

  CodecOptions options_;
  std::vector<std::unique_ptr<Codebook>> books_;
  at::Tensor pending_KM_;  // statistics of the step
  at::Tensor noise_VD_;
  int64_t step_ = -1;
};

}  // namespace s2s::codec
