#include "s2s/nn/layers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "nn/fused.h"
#include "nn/kernels/affine.h"
#include "s2s/error.h"

namespace s2s {
namespace {

Init default_linear_init(int64_t in) {
  return {Init::Kind::kUniform, 1.0 / std::sqrt(static_cast<double>(in))};
}

}  // namespace

/// The two low-rank layers of a LoRA adapter.
struct Linear::Lora {
  Linear a, b;
  double scale;
  double dropout;
  bool merged = false;
};

Linear::Linear(int64_t in, int64_t out, bool with_bias, std::optional<Init> weight_init)
    : in_(in), out_(out) {
  register_parameter("weight", weight, {out, in}, weight_init.value_or(default_linear_init(in)));
  if (!with_bias) return;
  // A model that sets the standard deviation of its weights initializes biases with zero, as
  // transformers does.
  register_parameter("bias", bias, {out},
                     weight_init ? Init{Init::Kind::kZeros, 0} : default_linear_init(in));
}

Linear::~Linear() = default;

namespace {

/// Returns a block's parameters for code that does not call its hook.
HeadWeight head_of(Block& block, const at::Tensor& weight, const at::Tensor& bias) {
  BlockHooks* const hooks = block.hooks();
  if (hooks == nullptr) return {weight, bias};
  hooks->use(block);
  return {weight, bias, hooks->vocabulary_split(block)};
}

}  // namespace

HeadWeight Linear::head() { return head_of(*this, weight, bias); }
HeadWeight Embedding::head() { return head_of(*this, weight, {}); }

void Linear::add_lora(int64_t r, double scale, double dropout) {
  S2S_ASSERT(!lora_, "a layer has one adapter");
  lora_.reset(
      new Lora{{in_, r, false}, {r, out_, false, Init{Init::Kind::kZeros, 0}}, scale, dropout});
  register_block("lora_A", lora_->a);
  register_block("lora_B", lora_->b);
}

void Linear::merge_lora() {
  if (!lora_ || lora_->merged) return;
  const at::NoGradGuard no_grad;
  const at::Tensor update = at::matmul(lora_->b.weight, lora_->a.weight);
  weight.add_(update.to(weight.scalar_type()), lora_->scale);
  lora_->merged = true;
}

at::Tensor Linear::forward(const at::Tensor& x) {
  const at::Tensor y = affine(x, weight, bias);
  if (!lora_ || lora_->merged) return y;
  const bool drops = lora_->dropout > 0 && is_training();
  const at::Tensor seen = drops ? at::dropout(x, lora_->dropout, true) : x;
  return y + lora_->b(lora_->a(seen)) * lora_->scale;
}

Embedding::Embedding(int64_t count, int64_t dim, Init init, int64_t padding_idx)
    : padding_idx_(padding_idx) {
  register_parameter("weight", weight, {count, dim}, init);
}

Embedding::~Embedding() = default;

at::Tensor Embedding::forward(const at::Tensor& ids) {
  return at::embedding(weight, ids, padding_idx_);
}

RmsNorm::RmsNorm(int64_t dim, double eps, NormWeight kind) : eps_(eps), kind_(kind) {
  register_parameter(
      "weight", weight, {dim},
      kind == NormWeight::kFactor ? Init{Init::Kind::kOnes, 1} : Init{Init::Kind::kZeros, 0});
}

RmsNorm::~RmsNorm() = default;

at::Tensor RmsNorm::forward(const at::Tensor& x) { return rms_norm(x, weight, eps_, kind_); }

std::pair<at::Tensor, at::Tensor> RmsNorm::of_sum(const at::Tensor& x, const at::Tensor& y) {
  const bool is_alone = hooks() == nullptr || (!x.is_cpu() && hooks()->only_calls(*this));
  if (is_alone) {
    if (hooks() != nullptr) hooks()->use(*this);
    return add_rms_norm(x, y, weight, eps_, kind_);
  }
  const at::Tensor sum = x + y;
  return {sum, (*this)(sum)};
}

LayerNorm::LayerNorm(int64_t dim, double eps) : eps_(eps) {
  register_parameter("weight", weight, {dim}, {Init::Kind::kOnes, 1});
  register_parameter("bias", bias, {dim}, {Init::Kind::kZeros, 0});
}

LayerNorm::~LayerNorm() = default;

at::Tensor LayerNorm::forward(const at::Tensor& x) {
  return at::layer_norm(x, {weight.size(0)}, weight, bias, eps_);
}

}  // namespace s2s
