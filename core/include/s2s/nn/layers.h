#pragma once
// The basic layers of models. Names and initial values follow PyTorch's modules.

#include <memory>
#include <optional>
#include <utility>

#include "s2s/nn/block.h"
#include "s2s/nn/vocabulary.h"

namespace s2s {

/// y = x W^T + b.  weight [out, in], bias [out].
class Linear : public BlockOf<> {
 public:
  Linear(int64_t in, int64_t out, bool bias = true, std::optional<Init> weight_init = {});
  ~Linear() override;
  at::Tensor weight, bias;  // bias undefined without one
  /// For logits: the parameters, without calling the hook.
  HeadWeight head();

  /// Adds lora_A [r, in] and lora_B [out, r]: y += scale * B A dropout(x). Call it at most once,
  /// before the block has memory. nn/lora.h adds LoRA to whole models.
  void add_lora(int64_t r, double scale, double dropout);
  bool has_lora() const { return lora_ != nullptr; }
  /// Moves scale * B A into the weight, which then computes alone.
  void merge_lora();

 protected:
  at::Tensor forward(const at::Tensor& x) override;

 private:
  struct Lora;
  int64_t in_, out_;
  std::unique_ptr<Lora> lora_;
};

/// Looks up rows of a table. ids [...] int64 -> [..., H].
class Embedding : public BlockOf<> {
 public:
  /// padding_idx: an id whose row gets no gradient from look-ups (torch's padding_idx); -1: none.
  Embedding(int64_t count, int64_t dim, Init init = {Init::Kind::kNormal, 1.0},
            int64_t padding_idx = -1);
  ~Embedding() override;
  at::Tensor weight;
  /// For a language model that ties its head to its embedding.
  HeadWeight head();
  int64_t padding_idx() const { return padding_idx_; }
  /// For strategies that keep only some of the rows on this rank.
  void set_padding_idx(int64_t id) { padding_idx_ = id; }

 protected:
  at::Tensor forward(const at::Tensor& ids) override;

 private:
  int64_t padding_idx_;
};

/// Meaning of a norm's weight: the factor itself (initial value 1), or an offset that is added to 1
/// (initial value 0).
enum class NormWeight { kFactor, kAddedToOne };

/// x / rms(x) * w. The mean square is in float32, and the result is cast to x's dtype before the
/// product with w. With NormWeight::kAddedToOne: x / rms(x) * (1 + w), all in float32 and cast
/// last. Hugging Face has both orders.
/// Source: transformers' RMSNorm classes.
class RmsNorm : public BlockOf<> {
 public:
  RmsNorm(int64_t dim, double eps, NormWeight kind = NormWeight::kFactor);
  ~RmsNorm() override;
  at::Tensor weight;
  /// x + y, and the block's result for it. In one pass on a device that has one, when no parallel
  /// strategy works at the block's hook.
  std::pair<at::Tensor, at::Tensor> of_sum(const at::Tensor& x, const at::Tensor& y);

 protected:
  at::Tensor forward(const at::Tensor& x) override;

 private:
  double eps_;
  NormWeight kind_;
};

/// Layer normalization over the last dim, with weight and bias.
class LayerNorm : public BlockOf<> {
 public:
  explicit LayerNorm(int64_t dim, double eps = 1e-5);
  ~LayerNorm() override;
  at::Tensor weight, bias;

 protected:
  at::Tensor forward(const at::Tensor& x) override;

 private:
  double eps_;
};

}  // namespace s2s
