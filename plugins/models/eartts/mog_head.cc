#include "mog_head.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "char_encoder.h"

namespace s2s::eartts {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGumbelEps = 1e-8;

/// Sets the logits of excluded components to minus infinity. Source: transformers' TopKLogitsWarper
/// and TopPLogitsWarper.
at::Tensor keep_top(const at::Tensor& logits, const TopComponents& top) {
  if (top.count > 0) {
    const int64_t count = std::min(top.count, logits.size(-1));
    const at::Tensor least = std::get<0>(logits.topk(count, -1)).slice(-1, count - 1, count);
    return logits.masked_fill(logits < least, -kInfinity);
  }
  const auto [ascending, order] = logits.sort(-1, /*descending=*/false);
  at::Tensor removed = ascending.softmax(-1).cumsum(-1).le(1 - top.share);
  removed.select(-1, -1).fill_(false);
  return logits.masked_fill(removed.scatter(-1, order, removed), -kInfinity);
}

at::Tensor gumbel_like(const at::Tensor& logits, const at::Generator& noise) {
  const at::Tensor uniform = at::rand(logits.sizes(), noise).to(logits.options());
  return -(-(uniform + kGumbelEps).log() + kGumbelEps).log();
}

}  // namespace

MogLayer::MogLayer(int64_t hidden_size, const MogOptions& options)
    : pre_norm_(hidden_size, options.eps, NormWeight::kAddedToOne),
      mlp_(gelu_mlp_spec(hidden_size, options.intermediate_size)),
      post_norm_(hidden_size, options.eps, NormWeight::kAddedToOne) {
  register_block("pre_norm", pre_norm_);
  register_block("mlp", mlp_);
  register_block("post_norm", post_norm_);
}

MogLayer::~MogLayer() = default;

at::Tensor MogLayer::forward(const at::Tensor& x_BTH) {
  return x_BTH + post_norm_(mlp_(pre_norm_(x_BTH)));
}

MogHead::MogHead(int64_t hidden_size, int64_t latent_size, const MogOptions& options)
    : options_(options),
      latent_size_(latent_size),
      norm_(hidden_size, options.eps, NormWeight::kAddedToOne),
      proj_logits_(hidden_size, options.num_predictions, /*bias=*/false),
      proj_mus_(hidden_size, options.num_predictions * options.low_rank.value_or(latent_size),
                /*bias=*/false),
      proj_logs_(hidden_size, 1, /*bias=*/false) {
  for (int64_t i = 0; i < options.num_layers; ++i) {
    layers_.push_back(std::make_unique<MogLayer>(hidden_size, options));
    register_block("mlp_stack." + std::to_string(i), *layers_.back());
  }
  register_block("mlp_stack." + std::to_string(options.num_layers), norm_);
  register_block("proj_logits", proj_logits_);
  register_block("proj_mus", proj_mus_);
  register_block("proj_logs", proj_logs_);
  if (!options.low_rank) return;
  proj_else_ = std::make_unique<Linear>(hidden_size, latent_size, /*bias=*/false);
  register_block("proj_else", *proj_else_);
  const double scale = 1 / std::sqrt(static_cast<double>(*options.low_rank));
  register_parameter("low_mat", low_mat_NDR_,
                     {options.num_predictions, latent_size, *options.low_rank},
                     {Init::Kind::kNormal, scale});
}

MogHead::~MogHead() = default;

at::Tensor MogHead::layers(at::Tensor hidden_BTH) {
  for (const auto& layer : layers_) hidden_BTH = (*layer)(hidden_BTH);
  return norm_(hidden_BTH);
}

Mixture MogHead::operator()(const at::Tensor& hidden_BTH) {
  const at::Tensor x_BTH = layers(hidden_BTH);
  return {proj_logits_(x_BTH),
          proj_mus_(x_BTH).view({x_BTH.size(0), x_BTH.size(1), options_.num_predictions, -1}),
          proj_else_ ? (*proj_else_)(x_BTH) : at::Tensor(),
          proj_logs_(x_BTH).clamp_min(options_.min_log_std)};
}

at::Tensor MogHead::distances(const at::Tensor& means_BTNR, const at::Tensor& target_BTD) {
  if (!options_.low_rank) return (means_BTNR - target_BTD.unsqueeze(-2)).square().sum(-1);
  // |W m - t|^2 without the full means: m' (W' W) m + t' t - 2 m' W' t.
  const at::Tensor low_NDR = low_mat_NDR_.to(means_BTNR.scalar_type());
  const at::Tensor square_NRR = at::matmul(low_NDR.transpose(1, 2), low_NDR);
  const at::Tensor mapped_BTNR = at::einsum("btni,nij->btnj", {means_BTNR, square_NRR});
  const at::Tensor target_BTNR = at::einsum("btd,ndj->btnj", {target_BTD, low_NDR});
  return ((means_BTNR * mapped_BTNR).sum(-1) + target_BTD.square().sum(-1, /*keepdim=*/true) -
          2 * (means_BTNR * target_BTNR).sum(-1))
      .abs();
}

std::pair<at::Tensor, at::Tensor> MogHead::draw(const at::Tensor& hidden_BTH, double guidance,
                                                const TopComponents& top,
                                                const at::Generator& noise) {
  at::Tensor x_BTH = layers(hidden_BTH);
  if (guidance > 0) {
    const std::vector<at::Tensor> halves = x_BTH.chunk(2, 0);
    x_BTH = halves[0] + guidance * (halves[0] - halves[1]);
  }
  const at::Tensor logits_BTN = keep_top(proj_logits_(x_BTH), top).to(at::kFloat);
  const at::Tensor chosen_BT =
      (logits_BTN.log_softmax(-1) + gumbel_like(logits_BTN, noise)).argmax(-1);
  const int64_t rank = options_.low_rank.value_or(latent_size_);
  const at::Tensor weight_NRH = proj_mus_.weight.view({options_.num_predictions, rank, -1});
  const at::Tensor chosen = chosen_BT.flatten();
  const auto times = [&](const at::Tensor& matrices, const at::Tensor& x) {
    return at::bmm(matrices.index_select(0, chosen), x.reshape({chosen.size(0), -1, 1}));
  };
  at::Tensor mean = times(weight_NRH, x_BTH);
  if (options_.low_rank) mean = times(low_mat_NDR_, mean);
  const at::Tensor log_std_BT1 = proj_logs_(x_BTH).clamp_min(options_.min_log_std);
  at::Tensor mean_BTD = mean.view({x_BTH.size(0), x_BTH.size(1), latent_size_}) * log_std_BT1.exp();
  if (proj_else_) mean_BTD = mean_BTD + (*proj_else_)(x_BTH);
  return {mean_BTD, log_std_BT1};
}

}  // namespace s2s::eartts
