#include "speech_decoder.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>

#include "duplex_errors.h"

namespace s2s::duplex {
namespace {
constexpr double kInitialStd = 0.02;  // of all weights inside of the transformer, as in GPT-2
}  // namespace

/// Layer norm with a weight alone.
class ScaleNorm final : public BlockOf<> {
 public:
  explicit ScaleNorm(int64_t dim) {
    register_parameter("weight", weight_, {dim}, {Init::Kind::kOnes, 1});
  }
  ~ScaleNorm() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x) override {
    return at::layer_norm(x, {weight_.size(0)}, weight_, {}, 1e-5);
  }

 private:
  at::Tensor weight_;
};

/// A convolution that sees the frame and those before it. weight [out, in, kernel].
class CausalConvolution final : public BlockOf<at::Tensor*> {
 public:
  CausalConvolution(int64_t in, int64_t out, int64_t kernel, double std) : kernel_(kernel) {
    register_parameter("weight", weight_, {out, in, kernel}, {Init::Kind::kNormal, std});
  }
  ~CausalConvolution() override = default;

 protected:
  /// before: the last kernel - 1 inputs of earlier calls, which it replaces; null: there are none.
  at::Tensor forward(const at::Tensor& x_BTD, at::Tensor* before) override {
    at::Tensor x = x_BTD;
    if (before != nullptr && before->defined()) {
      x = at::cat({*before, x}, 1);
    } else {
      x = at::constant_pad_nd(x, {0, 0, kernel_ - 1, 0});
    }
    if (before != nullptr) *before = x.narrow(1, x.size(1) - (kernel_ - 1), kernel_ - 1).clone();
    return at::conv1d(x.transpose(1, 2), weight_).transpose(1, 2);
  }

 private:
  int64_t kernel_;
  at::Tensor weight_;
};

class SpeechDecoder::Layer : public BlockOf<Memory*> {
 public:
  Layer(const SpeechDecoderOptions& options, int64_t index)
      : index_(index),
        heads_(options.sa_n_heads),
        dropout_(options.p_dropout),
        norm_self_(options.d_model),
        norm_pos_ff_(options.d_model),
        qkv_net_(options.d_model, 3 * options.d_model, false, Init{kNormal, kInitialStd}),
        o_net_(options.d_model, options.d_model, false, Init{kNormal, output_std(options)}),
        proj_(options.d_model, options.d_ffn, options.kernel_size, kInitialStd),
        out_(options.d_ffn, options.d_model, options.kernel_size, output_std(options)) {
    register_block("norm_self", norm_self_);
    register_block("self_attention.qkv_net", qkv_net_);
    register_block("self_attention.o_net", o_net_);
    register_block("norm_pos_ff", norm_pos_ff_);
    register_block("pos_ff.proj.conv", proj_);
    register_block("pos_ff.o_net.conv", out_);
  }
  ~Layer() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x_BTD, Memory* memory) override {
    SpeechLayerMemory* const own =
        memory == nullptr ? nullptr : &memory->layers[static_cast<size_t>(index_)];
    const at::Tensor x = x_BTD + attention(norm_self_(x_BTD), memory);
    at::Tensor y = proj_(norm_pos_ff_(x), own == nullptr ? nullptr : &own->ffn_in_BTD);
    y = out_(at::gelu(y, "tanh"), own == nullptr ? nullptr : &own->ffn_inner_BTD);
    return x + dropped(y);
  }

 private:
  static constexpr auto kNormal = Init::Kind::kNormal;
  static double output_std(const SpeechDecoderOptions& options) {
    return kInitialStd / std::sqrt(2.0 * static_cast<double>(options.n_layers));
  }

  at::Tensor dropped(const at::Tensor& x) const {
    return dropout_ > 0 ? at::dropout(x, dropout_, is_training()) : x;
  }

  at::Tensor attention(const at::Tensor& x_BTD, Memory* memory) {
    const at::Tensor qkv = qkv_net_(x_BTD).unflatten(-1, {3, heads_, x_BTD.size(-1) / heads_});
    const auto part = [&](int64_t which) { return qkv.select(2, which).transpose(1, 2); };
    at::Tensor k = part(1), v = part(2);
    if (memory != nullptr) std::tie(k, v) = memory->keys.append(index_, k, v);
    const at::Tensor y = at::scaled_dot_product_attention(
        part(0), k, v, {}, is_training() ? dropout_ : 0, /*is_causal=*/memory == nullptr);
    return dropped(o_net_(y.transpose(1, 2).flatten(2)));
  }

  int64_t index_, heads_;
  double dropout_;
  ScaleNorm norm_self_, norm_pos_ff_;
  Linear qkv_net_, o_net_;
  CausalConvolution proj_, out_;
};

SpeechDecoder::SpeechDecoder(const SpeechDecoderOptions& options, int64_t hidden_size,
                             int64_t num_codebooks, int64_t num_codes, double audio_embedding_std)
    : options_(options),
      num_codebooks_(num_codebooks),
      final_proj_(options.d_model, num_codebooks * num_codes) {
  if (hidden_size != options.d_model) {
    input_proj_ = std::make_unique<Linear>(hidden_size, options.d_model);
    register_block("input_proj", *input_proj_);
  }
  for (int64_t i = 0; i < options.n_layers; ++i) {
    layers_.push_back(std::make_unique<Layer>(options, i));
    register_block("t5_decoder.layers." + std::to_string(i), *layers_.back());
  }
  if (options.apply_norm_out) {
    norm_out_ = std::make_unique<ScaleNorm>(options.d_model);
    register_block("t5_decoder.norm_out", *norm_out_);
  }
  if (options.use_learnable_pos_emb) {
    position_embeddings_ = std::make_unique<Embedding>(
        options.max_length_causal_mask, options.d_model, Init{Init::Kind::kNormal, kInitialStd});
    register_block("t5_decoder.position_embeddings", *position_embeddings_);
  }
  register_block("final_proj", final_proj_);
  if (!options.cond_on_prev_audio_tokens) return;
  for (int64_t k = 0; k < num_codebooks; ++k) {
    audio_embeddings_.push_back(std::make_unique<Embedding>(
        num_codes, options.d_model, Init{Init::Kind::kNormal, audio_embedding_std}));
    register_block("audio_embeddings." + std::to_string(k), *audio_embeddings_.back());
  }
}

SpeechDecoder::~SpeechDecoder() = default;

at::Tensor SpeechDecoder::embed_codes(const at::Tensor& codes_BTK) {
  at::Tensor sum;
  for (size_t k = 0; k < audio_embeddings_.size(); ++k) {
    const at::Tensor book = (*audio_embeddings_[k])(codes_BTK.select(-1, static_cast<int64_t>(k)));
    sum = k == 0 ? book : sum + book;
  }
  return sum / num_codebooks_;
}

at::Tensor SpeechDecoder::with_positions(const at::Tensor& x_BTD, int64_t first) {
  const int64_t end = first + x_BTD.size(1);
  if (end > options_.max_length_causal_mask) {
    throw_speech_too_long(end, options_.max_length_causal_mask);
  }
  if (!position_embeddings_) return x_BTD;
  const at::Tensor positions_1T =
      at::arange(first, end, x_BTD.options().dtype(at::kLong).requires_grad(false)).unsqueeze(0);
  return x_BTD + (*position_embeddings_)(positions_1T);
}

at::Tensor SpeechDecoder::states(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                                 Memory* memory) {
  const at::Tensor heard = options_.detach_input ? hidden_BTH.detach() : hidden_BTH;
  at::Tensor x = input_proj_ ? (*input_proj_)(heard) : heard;
  const bool guided = options_.guides() && memory != nullptr;
  if (guided) {
    x = at::cat({x, at::zeros_like(x)});
  } else if (options_.guides() && is_training()) {
    // One draw for the whole batch, from the host's stream, which the ranks of a tensor axis share.
    const bool hides = at::rand({1}).item<double>() < *options_.cfg_unconditional_prob;
    if (hides) x = at::zeros_like(x);
  }
  if (!audio_embeddings_.empty()) {
    const at::Tensor said = embed_codes(codes_BTK);
    x = x + (guided ? at::cat({said, said}) : said);
  }
  x = with_positions(x, memory == nullptr ? 0 : memory->keys.length());
  if (options_.p_dropout > 0) x = at::dropout(x, options_.p_dropout, is_training());
  for (const auto& layer : layers_) x = (*layer)(x, memory);
  if (memory != nullptr) memory->keys.advance(hidden_BTH.size(1));
  if (norm_out_) x = (*norm_out_)(x);
  if (options_.p_dropout_out > 0) x = at::dropout(x, options_.p_dropout_out, is_training());
  if (!guided) return x;
  // The head is affine and the two factors add up to one, so that guidance may come before it.
  const int64_t rows = hidden_BTH.size(0);
  return x.narrow(0, rows, rows) * (1 - options_.cfg_scale) +
         x.narrow(0, 0, rows) * options_.cfg_scale;
}

ShardPlan SpeechDecoder::configure_model() const {
  ShardPlan plan;
  const auto whole = [&](const std::string& module) {
    plan.rows.push_back({module, Style::kReplicate, Layout::kFull, Layout::kFull});
  };
  if (input_proj_) whole("input_proj");
  if (!audio_embeddings_.empty()) whole("audio_embeddings.*");
  if (position_embeddings_) whole("t5_decoder.position_embeddings");
  whole("t5_decoder.layers.*");
  if (norm_out_) whole("t5_decoder.norm_out");
  plan.rows.push_back({"final_proj", Style::kVocab, Layout::kFull, Layout::kLast});
  plan.heads.push_back({"final_proj", num_codebooks_});
  // NeMo has one unit. The layers, which hold nearly all of it, need not be in memory together.
  plan.units = {{""}, {"t5_decoder.layers.*"}};
  return plan;
}

void SpeechDecoderOptions::check() const {
  if (has_xattn) throw_speech_decoder("has_xattn = true, but there is no condition", "false");
  if (!is_causal) throw_speech_decoder("is_causal = false would see frames to come", "true");
  if (use_moe) throw_speech_decoder("use_moe = true is not implemented", "false");
  if (d_model % sa_n_heads == 0) return;
  throw_speech_decoder("sa_n_heads = " + std::to_string(sa_n_heads) +
                           " does not divide d_model = " + std::to_string(d_model),
                       "a number of heads that does");
}

}  // namespace s2s::duplex
