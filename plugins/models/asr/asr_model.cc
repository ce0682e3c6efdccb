#include "asr_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "asr_errors.h"
#include "s2s/model_flops.h"
#include "s2s/model_parts.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"
#include "s2s/scores/texts.h"

namespace s2s::asr {
namespace {

/// Rows of labels, with zeros after each.
at::Tensor rows_of_labels(const std::vector<std::vector<int64_t>>& rows) {
  size_t width = 0;
  for (const std::vector<int64_t>& row : rows) width = std::max(width, row.size());
  const at::Tensor labels_BU =
      at::zeros({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)}, at::kLong);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto length = static_cast<int64_t>(rows[i].size());
    labels_BU[static_cast<int64_t>(i)].narrow(0, 0, length).copy_(at::tensor(rows[i], at::kLong));
  }
  return labels_BU;
}

/// What the user says in a row.
std::string user_text(const std::vector<Turn>& turns) {
  std::string text;
  for (const Turn& turn : turns) {
    if (turn.is_agent || turn.text.empty()) continue;
    text += (text.empty() ? "" : " ") + turn.text;
  }
  return text;
}

}  // namespace

AsrModel::AsrModel(AsrOptions options, AsrParts parts)
    : options_(std::move(options)), parts_(std::move(parts)) {
  register_block("", *parts_.encoder);
  const int64_t width = parts_.encoder->output_dim();
  if (options_.has_ctc()) {
    ctc_ = std::make_unique<CtcHead>(width, parts_.num_labels + 1, DecoderWeights::kTrained);
    register_block("ctc", *ctc_);
  }
  if (options_.has_transducer()) {
    transducer_ = std::make_unique<TransducerDecoder>(
        options_.transducer.networks(parts_.num_labels), width, "", DecoderWeights::kTrained);
    register_block("transducer", *transducer_);
  }
}

AsrModel::~AsrModel() = default;

AsrModel::Texts AsrModel::texts_of(const Batch& batch) const {
  const auto labels = batch.others.find("labels");
  if (labels != batch.others.end()) {
    return {labels->second.to(at::kCPU, at::kLong),
            batch.others.at("label_lengths").to(at::kCPU, at::kLong)};
  }
  const Tokenizer& tokenizer = required_tokenizer(parts_.tokenizer);
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> lengths;
  for (const std::vector<Turn>& turns : batch.turns) {
    rows.push_back(tokenizer.encode(user_text(turns)));
    lengths.push_back(static_cast<int64_t>(rows.back().size()));
  }
  return {rows_of_labels(rows), at::tensor(lengths, at::kLong)};
}

AsrModel::Losses AsrModel::losses(const EncoderOutput& heard, const Texts& texts) {
  const at::Device device = heard.features_BTH.device();
  const RecognitionTargets targets{texts.labels_BU.to(device), heard.lengths_B.to(at::kLong),
                                   texts.lengths_B.to(device), parts_.num_labels};
  Losses losses;
  if (ctc_) losses.ctc_B = ctc_loss((*ctc_)(heard.features_BTH), targets);
  if (!transducer_) return losses;
  const at::Tensor texts_BUJ =
      transducer_->project_predictions(transducer_->predictions(targets.labels_AU));
  at::Tensor scores_BTUV =
      transducer_->joint(transducer_->project_frames(heard.features_BTH), texts_BUJ);
  TransducerSteps steps = options_.steps();
  const double omega = is_training() ? options_.transducer.omega : 0;
  if (omega > 0 && at::rand({1}).item<double>() < omega) {
    scores_BTUV = scores_BTUV.narrow(3, 0, parts_.num_labels + 1);
    steps = {};
  }
  losses.transducer_B = transducer_loss(scores_BTUV, targets, steps);
  return losses;
}

at::Tensor AsrModel::weighted(const at::Tensor& losses_B, const Texts& texts) const {
  if (options_.reduction != "mean") return losses_B.sum();
  return (losses_B / texts.lengths_B.to(losses_B.device()).clamp_min(1)).sum();
}

double AsrModel::count(const Texts& texts) const {
  if (options_.reduction != "mean_volume") return static_cast<double>(texts.lengths_B.numel());
  return texts.lengths_B.sum().item<double>();
}

at::Tensor AsrModel::sum_of(const Losses& losses, const Texts& texts) const {
  if (!transducer_) return weighted(losses.ctc_B, texts);
  const at::Tensor sum = weighted(losses.transducer_B, texts);
  if (!ctc_) return sum;
  const double share = options_.ctc_loss_weight;
  return sum * (1 - share) + weighted(losses.ctc_B, texts) * share;
}

BatchWeight AsrModel::weigh(const Batch& batch) {
  if (!batch.source_audio_BS.defined()) throw no_audio_error();
  const Texts texts = texts_of(batch);
  const Encoder& encoder = *parts_.encoder;
  const std::vector<int64_t> samples = to_vector(batch.source_audio_lens_B);
  const auto rows = static_cast<int64_t>(samples.size());
  const int64_t width = encoder.output_width(batch.source_audio_BS.size(1));
  BatchWeight weight;
  double num_samples = 0;
  for (const int64_t count : samples) {
    weight.frames += encoder.output_frames(count);
    num_samples += static_cast<double>(count);
  }
  weight.padded_frames = rows * width;
  weight.tokens = texts.lengths_B.sum().item<int64_t>();
  weight.loss_frames = std::llround(count(texts));
  weight.audio_s = num_samples / static_cast<double>(encoder.sample_rate_hz());
  weight.encoder_flops = encoder_flops(*parts_.encoder, rows, batch.source_audio_BS.size(1));
  weight.model_flops = frame_flops(rows, width, texts.labels_BU.size(1));
  return weight;
}

double AsrModel::frame_flops(int64_t rows, int64_t frames, int64_t labels) {
  ProductWeights of_frames, of_labels, of_pairs;
  count_products(*this, parts_.encoder.get(), [&](const std::string& name) -> ProductWeights* {
    if (name.starts_with("transducer.embed.")) return nullptr;
    if (name.starts_with("transducer.out.")) return &of_pairs;
    const bool is_frame = name.starts_with("ctc.") || name.starts_with("transducer.enc.");
    return is_frame ? &of_frames : &of_labels;
  });
  const auto num_frames = static_cast<double>(rows * frames);
  const auto steps = static_cast<double>(labels + 1);
  return of_frames.flops(num_frames) + of_labels.flops(static_cast<double>(rows) * steps) +
         of_pairs.flops(num_frames * steps);
}

LossTerms AsrModel::training_loss(const Batch& batch, const StepContext& context) {
  rest_frozen({parts_.encoder.get()});
  const Texts texts = texts_of(batch);
  const Losses rows =
      losses(parts_.encoder->forward(batch.source_audio_BS, batch.source_audio_lens_B), texts);
  const double own = count(texts) * static_cast<double>(context.micro_batches);
  const double divisor = std::max(1.0, context.loss_frames > 0 ? context.loss_frames : own);
  LossTerms terms;
  terms.total = sum_of(rows, texts) / divisor;
  if (transducer_ && ctc_) {
    terms.parts["transducer_loss"] = weighted(rows.transducer_B.detach(), texts) / divisor;
    terms.parts["ctc_loss"] = weighted(rows.ctc_B.detach(), texts) / divisor;
  }
  return terms;
}

std::vector<std::vector<int64_t>> AsrModel::search(const EncoderOutput& heard) {
  if (transducer_) return transducer_->labels(heard.features_BTH, heard.lengths_B);
  return ctc_labels((*ctc_)(heard.features_BTH), heard.lengths_B);
}

MetricSums AsrModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Texts texts = texts_of(batch);
  const EncoderOutput heard =
      parts_.encoder->forward(batch.source_audio_BS, batch.source_audio_lens_B);
  MetricSums sums;
  sums["loss"] = {sum_of(losses(heard, texts), texts).item<double>(), count(texts)};
  if (parts_.tokenizer == nullptr) return sums;
  const auto found = search(heard);
  ErrorCounts errors;
  for (size_t b = 0; b < batch.turns.size(); ++b) {
    const std::string text = with_unknown_words(parts_.tokenizer->decode(found[b]));
    errors += word_errors(user_text(batch.turns[b]), text);
  }
  sums["wer"] = {static_cast<double>(errors.errors()),
                 static_cast<double>(errors.reference_length)};
  return sums;
}

std::vector<std::string> AsrModel::metric_names() const { return {"loss", "wer"}; }

ShardPlan AsrModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = parts_.encoder->configure_model(mesh);
  // The decoders are small beside the encoder: every rank of a tensor axis has all of them.
  if (ctc_) plan.rows.push_back({"ctc", Style::kReplicate, Layout::kFull, Layout::kFull});
  if (transducer_) {
    plan.rows.push_back({"transducer", Style::kReplicate, Layout::kFull, Layout::kFull});
  }
  return plan;
}

Batch AsrModel::probe_batch(const ProbeBatch& shape) {
  const auto rate_hz = static_cast<double>(parts_.encoder->sample_rate_hz());
  const int64_t num_samples = std::max<int64_t>(1, std::llround(shape.duration_s * rate_hz));
  const int64_t frames = parts_.encoder->output_frames(num_samples);
  // As NeMo's OOMptimizer: three audio frames per text token.
  const int64_t labels = shape.tokens > 0 ? shape.tokens : std::max<int64_t>(1, frames / 3);
  Batch batch;
  batch.source_audio_BS = at::randn({shape.rows, num_samples}, at::kFloat) * 0.1;
  batch.source_audio_lens_B = at::full({shape.rows}, num_samples, at::kLong);
  batch.others = {{"labels", at::randint(parts_.num_labels, {shape.rows, labels}, at::kLong)},
                  {"label_lengths", at::full({shape.rows}, labels, at::kLong)}};
  for (int64_t b = 0; b < shape.rows; ++b) batch.ids.push_back("probe-" + std::to_string(b));
  return batch;
}

}  // namespace s2s::asr
