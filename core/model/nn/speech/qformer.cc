// Shape letters: B batch, T frames, N outputs of the encoder, D their width, P prompts, A heads.

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "nn/speech/connector.h"
#include "nn/speech/encoder_errors.h"
#include "s2s/nn/transformer.h"

namespace s2s {
namespace {

constexpr double kBertEpsilon = 1e-12;

/// Multi-head attention without masks, with BERT's names: self.query, self.key, self.value,
/// output.dense, output.LayerNorm.
class BertAttention : public Block {
 public:
  BertAttention(int64_t dim, const QFormerOptions& options)
      : heads_(options.num_attention_heads),
        dropout_(options.dropout),
        query_(dim, dim),
        key_(dim, dim),
        value_(dim, dim),
        dense_(dim, dim),
        norm_(dim, kBertEpsilon) {
    register_block("self.query", query_);
    register_block("self.key", key_);
    register_block("self.value", value_);
    register_block("output.dense", dense_);
    register_block("output.LayerNorm", norm_);
  }
  ~BertAttention() override = default;

  /// x [B, P, D] attends to seen [B, T, D].
  at::Tensor forward(const at::Tensor& x_BPD, const at::Tensor& seen_BTD) {
    const int64_t head_dim = x_BPD.size(-1) / heads_;
    const at::Tensor q = to_heads(query_(x_BPD), head_dim);
    const at::Tensor k = to_heads(key_(seen_BTD), head_dim);
    const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
    at::Tensor weights = at::softmax(at::matmul(q, k.transpose(2, 3)) * scale, -1);
    if (dropout_ > 0) weights = at::dropout(weights, dropout_, is_training());
    at::Tensor y = dense_(from_heads(at::matmul(weights, to_heads(value_(seen_BTD), head_dim))));
    if (dropout_ > 0) y = at::dropout(y, dropout_, is_training());
    return norm_(y + x_BPD);
  }

 private:
  int64_t heads_;
  double dropout_;
  Linear query_, key_, value_, dense_;
  LayerNorm norm_;
};

class BertLayer : public Block {
 public:
  BertLayer(int64_t dim, const QFormerOptions& options)
      : dropout_(options.dropout),
        attention_(dim, options),
        crossattention_(dim, options),
        intermediate_(dim, options.intermediate_size),
        dense_(options.intermediate_size, dim),
        norm_(dim, kBertEpsilon) {
    register_block("attention", attention_);
    register_block("crossattention", crossattention_);
    register_block("intermediate.dense", intermediate_);
    register_block("output.dense", dense_);
    register_block("output.LayerNorm", norm_);
  }
  ~BertLayer() override = default;

  at::Tensor forward(const at::Tensor& x_BPD, const at::Tensor& seen_BTD) {
    const at::Tensor own = attention_.forward(x_BPD, x_BPD);
    const at::Tensor x = crossattention_.forward(own, seen_BTD);
    at::Tensor y = dense_(at::gelu(intermediate_(x)));
    if (dropout_ > 0) y = at::dropout(y, dropout_, is_training());
    return norm_(y + x);
  }

 private:
  double dropout_;
  BertAttention attention_, crossattention_;
  Linear intermediate_, dense_;
  LayerNorm norm_;
};

/// The prompts of each output of the encoder, [1, P, D].
class LayerPrompts : public Block {
 public:
  LayerPrompts(int64_t num_inputs, int64_t num_prompts, int64_t dim)
      : values(static_cast<size_t>(num_inputs)) {
    for (size_t n = 0; n < values.size(); ++n) {
      register_parameter(std::to_string(n), values[n], {1, num_prompts, dim},
                         {Init::Kind::kNormal, 1});
    }
  }
  ~LayerPrompts() override = default;
  std::vector<at::Tensor> values;
};

/// The parameters and the computation, as one block that a parallel strategy can call.
class QFormerStack : public BlockOf<> {
 public:
  QFormerStack(const QFormerOptions& options, int64_t num_inputs, int64_t dim, int64_t output_dim)
      : prompts_(num_inputs, options.prompt_size, dim), norm_(dim), proj_(dim, output_dim) {
    register_block("layer_prompts", prompts_);
    register_parameter("layer_weights", weights_, {options.prompt_size, num_inputs},
                       {Init::Kind::kZeros, 0});
    for (int64_t i = 0; i < options.num_hidden_layers; ++i) {
      layers_.push_back(std::make_unique<BertLayer>(dim, options));
      register_block("qformer.layer." + std::to_string(i), *layers_.back());
    }
    register_block("proj.0", norm_);
    register_block("proj.1", proj_);
  }
  ~QFormerStack() override = default;

 protected:
  /// x [B, T, N D] -> [B, P, H].
  at::Tensor forward(const at::Tensor& x_BTF) override {
    const std::vector<at::Tensor> seen =
        x_BTF.chunk(static_cast<int64_t>(prompts_.values.size()), -1);
    std::vector<at::Tensor> outputs;
    for (size_t n = 0; n < seen.size(); ++n) {
      at::Tensor y = prompts_.values[n].expand({x_BTF.size(0), -1, -1});
      for (const auto& layer : layers_) y = layer->forward(y, seen[n]);
      outputs.push_back(y);
    }
    const at::Tensor share_PN1 = at::softmax(weights_, -1).unsqueeze(-1);
    const at::Tensor mixed_BPD = (at::stack(outputs, 2) * share_PN1).sum(2);
    return proj_(norm_(mixed_BPD));
  }

 private:
  LayerPrompts prompts_;
  at::Tensor weights_;
  std::vector<std::unique_ptr<BertLayer>> layers_;
  LayerNorm norm_;
  Linear proj_;
};

class QFormer final : public Connector {
 public:
  QFormer(const QFormerOptions& options, int64_t num_inputs, int64_t dim, int64_t output_dim)
      : prompts_(options.prompt_size),
        output_dim_(output_dim),
        stack_(options, num_inputs, dim, output_dim) {}
  Block& block() override { return stack_; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    return {stack_(x_BTF), at::full_like(lengths_B, prompts_)};
  }
  int64_t output_frames(int64_t) const override { return prompts_; }
  int64_t output_dim() const override { return output_dim_; }
  int64_t stride() const override { return 0; }
  std::unique_ptr<FrameStream> open_stream(int64_t) override {
    throw encoder_not_streamable("model.modality_adapter.type", "qformer",
                                 "a connector that gives frames as they come, because a Q-Former "
                                 "sees the whole recording first");
  }

 private:
  int64_t prompts_, output_dim_;
  QFormerStack stack_;
};

}  // namespace

std::unique_ptr<Connector> make_qformer(const ModalityAdapterOptions& options, int64_t num_inputs,
                                        int64_t input_dim, int64_t output_dim) {
  const QFormerOptions& qformer = options.qformer;
  const int64_t dim = input_dim / num_inputs;
  if (dim % qformer.num_attention_heads != 0) {
    throw_connector("qformer.num_attention_heads", std::to_string(qformer.num_attention_heads),
                    "a divisor of the encoder's width " + std::to_string(dim));
  }
  return std::make_unique<QFormer>(qformer, num_inputs, dim, output_dim);
}

}  // namespace s2s
