// Losses and generation.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "eartts_errors.h"
#include "s2s/nn/full_precision.h"
#include "tts_core.h"

namespace s2s::eartts {
namespace {

/// Chooses `count` more books of every frame, each the nearest to the remainder of z. Source:
/// NeMo's depthsum_encoding_step.
void fill_books(const at::Tensor& books_KCD, at::Tensor rest_BTD, int64_t first, int64_t count,
                at::Tensor& code_BTK) {
  for (int64_t k = first; k < first + count; ++k) {
    const at::Tensor book_CD = books_KCD[k];
    const at::Tensor distance_BTC =
        book_CD.square().sum(-1) - 2 * at::matmul(rest_BTD, book_CD.t());
    const at::Tensor chosen_BT = distance_BTC.argmin(-1);
    rest_BTD = rest_BTD - at::embedding(book_CD, chosen_BT);
    code_BTK.select(-1, k).copy_(chosen_BT);
  }
}

}  // namespace

at::Generator Sampling::noise() const { return at::make_generator<at::CPUGeneratorImpl>(seed); }

Sampling sampling_of(const GenerationOptions& options, const std::string& path) {
  Sampling sampling;
  sampling.num_iter = options.num_iter;
  sampling.guidance = options.guidance_scale.value_or(0);
  sampling.noise_scale = options.noise_scale;
  sampling.seed = static_cast<uint64_t>(options.seed);
  const std::string place = path + ".top_p_or_k", text = options.top_p_or_k.text();
  const bool is_count = text.find_first_not_of("0123456789") == std::string::npos;
  const double value = options.top_p_or_k.as_double(place);
  if (value <= 0 || (!is_count && value > 1)) throw bad_top_error(place, text);
  sampling.top.count = is_count ? static_cast<int64_t>(value) : 0;
  sampling.top.share = value;
  return sampling;
}

TtsLosses TtsCore::losses(const TtsInputs& inputs, const Draws& draws) {
  const Masks masks = masks_of(options_, draws);
  const int64_t mask_id = options_.codebook_size;
  const at::Tensor input_BTK = masked_codes(inputs.code_BTK, masks.input, mask_id);
  TtsLosses losses;
  losses.hidden_BTH = states(code_inputs(input_BTK, inputs.audio_mask_BT), inputs,
                             draws.uncond_B11.lt(options_.p_uncond), nullptr);
  losses.end = end_loss(losses.hidden_BTH, inputs.audio_mask_BT);
  at::Tensor head_BTH = embed_code_(latents(masked_codes(inputs.code_BTK, masks.source, mask_id)));
  if (embed_target_mask_) {
    head_BTH = head_BTH + (*embed_target_mask_)((masks.target.sum(-1) - 1).clamp_min(0));
  }
  const Mixture mixture = mog_head_(head_BTH + losses.hidden_BTH);
  const at::Tensor target_BTK = masks.source.logical_not()
                                    .logical_and(masks.target)
                                    .logical_and(inputs.audio_mask_BT.unsqueeze(-1));
  mixture_losses(inputs.code_BTK, target_BTK, mixture, losses);
  return losses;
}

at::Tensor TtsCore::end_loss(const at::Tensor& hidden_BTH, const at::Tensor& audio_mask_BT) {
  if (!lm_head_) return at::zeros({}, hidden_BTH.options().dtype(at::kFloat));
  const at::Tensor logits_BT2 = (*lm_head_)(hidden_BTH).to(at::kFloat);
  const FullPrecision full_precision;
  const int64_t width = audio_mask_BT.size(1);
  const at::Tensor before_BT = at::constant_pad_nd(audio_mask_BT.slice(1, 0, width - 1), {1, 0}, 0);
  const at::Tensor ends_BT = audio_mask_BT.logical_not().logical_and(before_BT);
  const at::Tensor counts_BT = ends_BT.logical_or(audio_mask_BT);
  const at::Tensor log_p_BT =
      logits_BT2.log_softmax(-1).gather(-1, ends_BT.to(at::kLong).unsqueeze(-1)).squeeze(-1);
  return -(log_p_BT * counts_BT).sum() / counts_BT.sum().clamp_min(1);
}

void TtsCore::mixture_losses(const at::Tensor& code_BTK, const at::Tensor& target_BTK,
                             Mixture mixture, TtsLosses& losses) {
  const FullPrecision full_precision;
  const at::Tensor frames_BT = target_BTK.any(-1);
  const at::Tensor levels = target_BTK.sum().clamp_min(1);
  const at::Tensor logits_BTN = mixture.logits_BTN.to(at::kFloat);
  const at::Tensor log_std_BT1 = mixture.log_std_BT1.to(at::kFloat);
  at::Tensor target_BTD =
      latents(masked_codes(code_BTK, target_BTK, options_.codebook_size)).to(at::kFloat);
  if (mixture.residual_BTD.defined()) {
    target_BTD = target_BTD - mixture.residual_BTD.to(at::kFloat);
  }
  const at::Tensor distance_BTN =
      mog_head_.distances(mixture.means_BTNR.to(at::kFloat), target_BTD * (-log_std_BT1).exp());
  const double log_root = 0.5 * std::log(2 * M_PI);
  const at::Tensor log_p_BTN =
      (-log_root - log_std_BT1) * static_cast<double>(options_.latent_size) - 0.5 * distance_BTN;
  const double smoothing = options_.label_smoothing;
  const at::Tensor posterior_BTN = (log_p_BTN.detach().softmax(-1) * (1 - smoothing) +
                                    smoothing / static_cast<double>(mog_head_.num_predictions()));
  losses.latent = -((posterior_BTN * log_p_BTN).sum(-1) * frames_BT).sum() / levels;
  const at::Tensor log_ratio_BTN = (posterior_BTN + 1e-8).log() - logits_BTN.log_softmax(-1);
  losses.mixture = ((posterior_BTN * log_ratio_BTN).sum(-1) * frames_BT).sum() / levels;
}

at::Tensor TtsCore::generate(const at::Tensor& hidden_BTH, const Sampling& sampling,
                             const at::Generator& noise) {
  const bool guided = sampling.guidance > 0;
  const std::vector<at::Tensor> halves =
      guided ? hidden_BTH.chunk(2, 0) : std::vector<at::Tensor>{hidden_BTH};
  const int64_t books = options_.num_quantizers;
  at::Tensor code_BTK = at::full({halves[0].size(0), halves[0].size(1), books},
                                 options_.codebook_size, hidden_BTH.options().dtype(at::kLong));
  const at::Tensor rate =
      at::linspace(0.0, 1.0, sampling.num_iter + 1, at::kFloat).slice(0, 0, sampling.num_iter);
  const at::Tensor hidden_books =
      (masking_rate(rate, options_.exponent) * static_cast<double>(books)).ceil().to(at::kLong);
  int64_t done = 0;
  for (int64_t i = 0; i < sampling.num_iter; ++i) {
    const int64_t next =
        i + 1 < sampling.num_iter ? hidden_books[i + 1].item<int64_t>() : int64_t{0};
    const int64_t count = hidden_books[i].item<int64_t>() - next;
    if (count == 0) continue;
    at::Tensor seen_BTH = embed_code_(latents(code_BTK));
    if (embed_target_mask_) {
      seen_BTH =
          seen_BTH + (*embed_target_mask_)(at::full({1, 1}, done + count - 1, code_BTK.options()));
    }
    std::vector<at::Tensor> rows;
    for (const at::Tensor& half : halves) rows.push_back(seen_BTH + half);
    const auto [mean_BTD, log_std_BT1] =
        mog_head_.draw(at::cat(rows, 0), sampling.guidance, sampling.top, noise);
    const at::Tensor noise_BTD = at::randn(mean_BTD.sizes(), noise).to(mean_BTD.options());
    const at::Tensor z_BTD = mean_BTD + log_std_BT1.exp() * noise_BTD * sampling.noise_scale;
    fill_books(books_KCD_, z_BTD.to(at::kFloat), done, count, code_BTK);
    done += count;
  }
  return code_BTK;
}

}  // namespace s2s::eartts
