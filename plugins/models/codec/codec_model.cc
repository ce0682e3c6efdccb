#include "codec_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "codec_errors.h"
#include "row_draws.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"

namespace s2s::codec {
namespace {

const at::Tensor& audio_of_batch(const Batch& batch) {
  if (!batch.target_audio_BS.defined()) throw no_audio_error();
  return batch.target_audio_BS;
}

void add_weight_norm(NameMap& names, const std::string& ours, const std::string& theirs) {
  const std::string normed = theirs + ".parametrizations.weight.original";
  names.other_spellings.push_back({ours + ".weight_g", normed + "0"});
  names.other_spellings.push_back({ours + ".weight_v", normed + "1"});
}

}  // namespace

CodecModel::CodecModel(const CodecOptions& options)
    : options_(options), codec_(options), spectral_(options) {
  register_block("codec", codec_);
  register_block("spectral_loss", spectral_);
  if (!options.discriminator.any()) return;
  discriminators_ = std::make_unique<Discriminators>(options.discriminator);
  register_block("discriminator", *discriminators_);
}

CodecModel::~CodecModel() = default;

BatchWeight CodecModel::weigh(const Batch& batch) {
  audio_of_batch(batch);
  BatchWeight weight;
  const int64_t segment = options_.segment_samples(), hop = options_.hop();
  const std::vector<int64_t> lengths = to_vector(batch.target_audio_lens_B);
  for (const int64_t length : lengths) {
    const int64_t used = std::min(length, segment);
    weight.frames += (used + hop - 1) / hop;
    weight.audio_s += static_cast<double>(used) / static_cast<double>(options_.rate_hz());
  }
  weight.loss_frames = static_cast<int64_t>(lengths.size());  // losses are means of rows
  weight.padded_frames = weight.loss_frames * (segment / hop);
  weight.tokens = weight.frames * options_.num_codebooks;
  return weight;
}

/// Where segments around a turn of the agent begin, in samples; -1: of a row without one. [B]
/// float64, on the CPU.
at::Tensor CodecModel::speech_begins(const Batch& batch, int64_t step) const {
  const int64_t rows = batch.target_audio_BS.size(0);
  const at::Tensor place_B = uniform_of_rows(batch.ids, rows, step, kSegmentDraw);
  const at::Tensor speech_B = uniform_of_rows(batch.ids, rows, step, kSpeechDraw);
  const at::Tensor turn_B = uniform_of_rows(batch.ids, rows, step, kTurnDraw);
  std::vector<double> begins(static_cast<size_t>(rows), -1);
  for (size_t b = 0; b < begins.size() && b < batch.turns.size(); ++b) {
    std::vector<Turn> spoken = batch.turns[b];
    std::erase_if(spoken, [](const Turn& turn) { return !turn.is_agent; });
    const auto row = static_cast<int64_t>(b);
    const auto share = [&](const at::Tensor& shares_B) { return shares_B[row].item<double>(); };
    if (spoken.empty() || share(speech_B) >= options_.speech_share) continue;
    const double place = share(turn_B) * static_cast<double>(spoken.size());
    const Turn& turn = spoken[static_cast<size_t>(place)];
    const double middle_s = turn.start_s + share(place_B) * (turn.end_s - turn.start_s);
    begins[b] = std::max(0.0, middle_s * static_cast<double>(options_.rate_hz()) -
                                  static_cast<double>(options_.segment_samples()) / 2);
  }
  return at::tensor(begins, at::kDouble);
}

at::Tensor CodecModel::segments(const Batch& batch, int64_t step) const {
  const at::Tensor audio_BS = audio_of_batch(batch).to(at::kFloat);
  const at::Device device = audio_BS.device();
  const int64_t segment = options_.segment_samples(), rows = audio_BS.size(0);
  const int64_t missing = std::max(int64_t{0}, segment - audio_BS.size(1));
  const at::Tensor long_BS = at::constant_pad_nd(audio_BS, {0, missing});
  const at::Tensor places_B = (batch.target_audio_lens_B.to(device) - segment + 1).clamp_min(1);
  const at::Tensor share_B = uniform_of_rows(batch.ids, rows, step, kSegmentDraw).to(device);
  const at::Tensor speech_B = speech_begins(batch, step).to(device);
  const at::Tensor begin_B = at::where(speech_B.ge(0), speech_B, share_B * places_B)
                                 .floor()
                                 .to(at::kLong)
                                 .minimum(places_B - 1);
  const at::Tensor place_1S = at::arange(segment, begin_B.options()).unsqueeze(0);
  return long_BS.gather(1, begin_B.unsqueeze(1) + place_1S);
}

at::Tensor CodecModel::books_of_rows(const Batch& batch, int64_t step) const {
  const int64_t rows = batch.target_audio_BS.size(0), books = options_.num_codebooks;
  const at::Tensor drops_B =
      uniform_of_rows(batch.ids, rows, step, kDropoutDraw).lt(options_.quantizer_dropout);
  const at::Tensor some_B =
      (uniform_of_rows(batch.ids, rows, step, kBooksDraw) * static_cast<double>(books))
          .floor()
          .to(at::kLong)
          .clamp_max(books - 1) +
      1;
  return at::where(drops_B, some_B, at::full_like(some_B, books))
      .to(batch.target_audio_BS.device());
}

void CodecModel::RowLosses::add(const std::string& name, const at::Tensor& loss_B, double scale) {
  parts[name] = loss_B;
  if (scale == 0) return;
  total_B = total_B.defined() ? total_B + loss_B * scale : loss_B * scale;
}

void CodecModel::add_spectral(const at::Tensor& real_BS, const at::Tensor& decoded_BS,
                              RowLosses& losses) const {
  const SpectralLosses spectral = spectral_(real_BS, decoded_BS);
  if (spectral.mel_l1_B.defined()) {
    losses.add("mel_l1_loss", spectral.mel_l1_B, options_.mel_loss_l1_scale);
    losses.add("mel_l2_loss", spectral.mel_l2_B, options_.mel_loss_l2_scale);
  }
  if (spectral.stft_B.defined()) {
    losses.add("stft_loss", spectral.stft_B, options_.stft_loss_scale);
  }
  losses.add("time_loss", spectral.time_B, options_.time_domain_loss_scale);
}

void CodecModel::add_adversarial(const at::Tensor& real_BS, const at::Tensor& decoded_BS,
                                 int64_t step, RowLosses& losses) const {
  if (discriminators_ == nullptr) return;
  const DiscriminatorOptions& options = options_.discriminator;
  const Discriminators& judge = *discriminators_;
  const Judgement of_real = judge(real_BS, /*frozen=*/false);
  losses.add("disc_loss",
             discriminator_loss(of_real, judge(decoded_BS.detach(), /*frozen=*/false), options), 1);
  if (step < options.start_step) return;
  const Judgement of_decoded = judge(decoded_BS, /*frozen=*/true);
  losses.add("gen_loss", codec_loss(of_decoded, options), options_.gen_loss_scale);
  losses.add("feature_loss", feature_loss(of_real, of_decoded, options),
             options_.feature_loss_scale);
}

LossTerms CodecModel::training_loss(const Batch& batch, const StepContext& context) {
  const FullPrecision full_precision;  // spectra and codebooks are not accurate enough in bfloat16
  const at::Tensor real_BS = segments(batch, context.step);
  const at::Tensor books_B = books_of_rows(batch, context.step);
  Quantizer& quantizer = codec_.quantizer();
  const at::Tensor latents_BDT = codec_.latents(real_BS);
  Quantized quantized;
  if (is_training()) {
    quantizer.begin_step(context.step);
    quantized = quantizer.learn(latents_BDT, books_B, context.sum_over_data);
  } else {
    quantized = quantizer.quantize(latents_BDT, books_B);
  }
  const at::Tensor decoded_BS = codec_.audio_of(quantized.sum_BDT);
  RowLosses losses;
  add_spectral(real_BS, decoded_BS, losses);
  if (quantized.commit_B.defined()) {
    losses.add("commit_loss", quantized.commit_B, options_.commit_loss_scale);
  }
  add_adversarial(real_BS, decoded_BS, context.step, losses);
  const auto rows = static_cast<double>(real_BS.size(0));
  const double all_rows = context.loss_frames > 0 ? context.loss_frames : rows;
  LossTerms terms;
  terms.total = losses.total_B.sum() / all_rows;
  for (const auto& [name, loss_B] : losses.parts) {
    terms.parts[name] = loss_B.detach().sum() / all_rows;
  }
  terms.parts["perplexity"] = quantized.perplexity * (rows / all_rows);
  return terms;
}

MetricSums CodecModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  const at::Tensor audio_BS = audio_of_batch(batch).to(at::kFloat);
  const std::vector<int64_t> lengths = to_vector(batch.target_audio_lens_B);
  const auto [codes_BKT, frames_B] = codec_.encode(audio_BS, batch.target_audio_lens_B);
  const at::Tensor decoded_BS = codec_.decode(codes_BKT);
  MetricSums sums;
  for (size_t b = 0; b < lengths.size(); ++b) {
    // A recording shorter than the windows goes on with silence.
    const int64_t missing = std::max(int64_t{0}, options_.segment_samples() - lengths[b]);
    const auto row = static_cast<int64_t>(b);
    const auto recording = [&](const at::Tensor& all_BS) {
      return at::constant_pad_nd(all_BS.narrow(0, row, 1).slice(1, 0, lengths[b]), {0, missing});
    };
    const at::Tensor real_1S = recording(audio_BS), decoded_1S = recording(decoded_BS);
    RowLosses losses;
    add_spectral(real_1S, decoded_1S, losses);
    losses.parts["mel_distance"] = spectral_.mel_distance(real_1S, decoded_1S);
    losses.parts["loss"] = losses.total_B;
    for (const auto& [name, loss_1] : losses.parts) {
      if (!loss_1.defined()) continue;
      sums[name].first += loss_1.item<double>();
      sums[name].second += 1;
    }
  }
  return sums;
}

std::vector<std::string> CodecModel::metric_names() const {
  return {"loss", "mel_l1_loss", "mel_l2_loss", "stft_loss", "time_loss", "mel_distance"};
}

ShardPlan CodecModel::configure_model(const MeshShape&) const {
  ShardPlan plan;
  plan.rows.push_back({"codec"});
  if (discriminators_) plan.rows.push_back({"discriminator"});
  return plan;
}

NameMap CodecModel::checkpoint_names() const {
  NameMap names{{{"discriminator.**", "discriminator.**"}, {"codec.**", "**"}}, {}};
  // The names of torch's newer weight norm.
  const std::string list = "discriminators.*.";
  for (const std::string of : {"encoder.layers.*.", "decoder.layers.*."}) {
    for (const std::string conv : {"conv", "block.*.conv", "shortcut.conv"}) {
      add_weight_norm(names, "codec." + of + conv, of + conv);
    }
  }
  for (const std::string& judge : {list + list, list + list + list}) {
    for (const std::string layer : {"conv_layers.*.conv", "conv_post.conv"}) {
      add_weight_norm(names, "discriminator." + judge + layer, "discriminator." + judge + layer);
    }
  }
  return names;
}

}  // namespace s2s::codec
