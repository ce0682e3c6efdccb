#include "speech_decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "duplex_errors.h"
#include "s2s/nn/transformer.h"

namespace s2s::duplex_s2s {
namespace {
constexpr double kInitialStd = 0.02;  // of all weights in the transformer, as in GPT-2
}  // namespace

/// Layer norm with only a weight.
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

/// A convolution over the frame and earlier ones. weight [out, in, kernel].
class CausalConvolution final : public BlockOf<const SequenceInfo&> {
 public:
  /// A state keeps its last inputs as `name`.
  CausalConvolution(int64_t in, int64_t out, int64_t kernel, double std, int64_t layer,
                    std::string name)
      : kernel_(kernel), layer_(layer), name_(std::move(name)) {
    register_parameter("weight", weight_, {out, in, kernel}, {Init::Kind::kNormal, std});
  }
  ~CausalConvolution() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x_BTD, const SequenceInfo& info) override {
    at::Tensor before;
    if (info.state != nullptr) before = info.state->recall(layer_, name_, info.rows);
    const at::Tensor x = before.defined() ? at::cat({before, x_BTD}, 1)
                                          : at::constant_pad_nd(x_BTD, {0, 0, kernel_ - 1, 0});
    if (info.state != nullptr) {
      const at::Tensor last = x.narrow(1, x.size(1) - (kernel_ - 1), kernel_ - 1).clone();
      info.state->remember(layer_, name_, last, info.rows);
    }
    return at::conv1d(x.transpose(1, 2), weight_).transpose(1, 2);
  }

 private:
  int64_t kernel_, layer_;
  std::string name_;
  at::Tensor weight_;
};

class SpeechDecoder::Layer : public BlockOf<const SequenceInfo&> {
 public:
  Layer(const SpeechDecoderOptions& options, int64_t index)
      : index_(index),
        heads_(options.sa_n_heads),
        dropout_(options.p_dropout),
        norm_self_(options.d_model),
        norm_pos_ff_(options.d_model),
        qkv_net_(options.d_model, 3 * options.d_model, false, Init{kNormal, kInitialStd}),
        o_net_(options.d_model, options.d_model, false, Init{kNormal, output_std(options)}),
        proj_(options.d_model, options.d_ffn, options.kernel_size, kInitialStd, index, "ffn_in"),
        out_(options.d_ffn, options.d_model, options.kernel_size, output_std(options), index,
             "ffn_inner") {
    register_block("norm_self", norm_self_);
    register_block("self_attention.qkv_net", qkv_net_);
    register_block("self_attention.o_net", o_net_);
    register_block("norm_pos_ff", norm_pos_ff_);
    register_block("pos_ff.proj.conv", proj_);
    register_block("pos_ff.o_net.conv", out_);
  }
  ~Layer() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x_BTD, const SequenceInfo& info) override {
    const at::Tensor x = x_BTD + attention(norm_self_(x_BTD), info);
    const at::Tensor y = out_(at::gelu(proj_(norm_pos_ff_(x), info), "tanh"), info);
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

  at::Tensor attention(const at::Tensor& x_BTD, const SequenceInfo& info) {
    const at::Tensor qkv = qkv_net_(x_BTD).unflatten(-1, {3, heads_, x_BTD.size(-1) / heads_});
    const auto part = [&](int64_t which) { return qkv.select(2, which).transpose(1, 2); };
    std::vector<SeenKeys> seen = {{part(1), part(2)}};
    if (info.state != nullptr) {
      seen = info.state->append(index_, seen[0].k, seen[0].v, /*window=*/0, info.rows);
    }
    const at::Tensor y = attend_seen(part(0), seen, [&](const at::Tensor& q, const SeenKeys& of) {
      return at::scaled_dot_product_attention(q, of.k, of.v, {}, is_training() ? dropout_ : 0,
                                              /*is_causal=*/!info.state);
    });
    return dropped(o_net_(from_heads(y)));
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

at::Tensor SpeechDecoder::with_positions(const at::Tensor& x_BTD, const SequenceInfo& info) {
  std::vector<int64_t> begins = {0};
  if (info.state != nullptr) begins = info.state->lengths(info.rows);
  const int64_t end = *std::max_element(begins.begin(), begins.end()) + x_BTD.size(1);
  if (end > options_.max_length_causal_mask) {
    throw speech_too_long_error(end, options_.max_length_causal_mask);
  }
  if (!position_embeddings_) return x_BTD;
  if (std::adjacent_find(begins.begin(), begins.end(), std::not_equal_to()) == begins.end()) {
    begins.resize(1);
  }
  const auto ids = x_BTD.options().dtype(at::kLong).requires_grad(false);
  const at::Tensor positions_BT =
      at::tensor(begins, at::kLong).to(ids.device()).unsqueeze(1) + at::arange(x_BTD.size(1), ids);
  return x_BTD + (*position_embeddings_)(positions_BT);
}

at::Tensor SpeechDecoder::states(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                                 SequenceState* state, const std::vector<int64_t>& rows) {
  const at::Tensor heard = options_.detach_input ? hidden_BTH.detach() : hidden_BTH;
  at::Tensor x = input_proj_ ? (*input_proj_)(heard) : heard;
  const bool guided = options_.guides() && state != nullptr;
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
  SequenceInfo info;
  info.state = state;
  info.rows = rows;
  if (guided) {  // the second half of the rows has no hidden states
    for (const int64_t row : rows) info.rows.push_back(row + state->num_rows() / 2);
  }
  x = with_positions(x, info);
  if (options_.p_dropout > 0) x = at::dropout(x, options_.p_dropout, is_training());
  for (const auto& layer : layers_) x = (*layer)(x, info);
  if (state != nullptr) state->advance(hidden_BTH.size(1), info.rows);
  if (norm_out_) x = (*norm_out_)(x);
  if (options_.p_dropout_out > 0) x = at::dropout(x, options_.p_dropout_out, is_training());
  if (!guided) return x;
  // The head is affine and the factors sum to one, so guidance can precede it.
  const int64_t count = hidden_BTH.size(0);
  return x.narrow(0, count, count) * (1 - options_.cfg_scale) +
         x.narrow(0, 0, count) * options_.cfg_scale;
}

void SpeechDecoder::reset(SequenceState& state, int64_t conversation) const {
  state.reset_row(conversation);
  if (options_.guides()) state.reset_row(conversation + state.num_rows() / 2);
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
  // NeMo has one unit. Separate layers need not be in memory together.
  plan.units = {{""}, {"t5_decoder.layers.*"}};
  return plan;
}

void SpeechDecoderOptions::check() const {
  if (has_xattn) throw speech_decoder_error("has_xattn = true, but there is no condition", "false");
  if (!is_causal) throw speech_decoder_error("is_causal = false would see frames to come", "true");
  if (use_moe) throw speech_decoder_error("use_moe = true is not implemented", "false");
  if (d_model % sa_n_heads == 0) return;
  throw speech_decoder_error("sa_n_heads = " + std::to_string(sa_n_heads) +
                                 " does not divide d_model = " + std::to_string(d_model),
                             "a number of heads that does");
}

}  // namespace s2s::duplex_s2s
