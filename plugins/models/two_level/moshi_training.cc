// Moshi's training step: streams of a batch, delays, losses.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "moshi_model.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"
#include "streams.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

/// Moves the columns one to the left, and fills the last one with `fill`.
at::Tensor shifted_left(const at::Tensor& x_BT, int64_t fill) {
  return at::cat({x_BT.narrow(1, 1, x_BT.size(1) - 1), at::full_like(x_BT.narrow(1, 0, 1), fill)},
                 1);
}

void check_text(const at::Tensor& text_BT, int64_t rows) {
  if (text_BT.defined() && text_BT.dim() == 2 && text_BT.size(0) == rows) return;
  throw streams_error("target_tokens", text_BT,
                      "[" + std::to_string(rows) + ", frames], a text id per frame");
}

}  // namespace

at::Tensor MoshiModel::user_codes(const Batch& batch, at::Tensor& lengths_B) {
  const auto given = batch.others.find("user_codes");
  if (given != batch.others.end()) return given->second.to(at::kLong);
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  Codec& listening = codec();
  check_audio("source_audio", batch.source_audio_BS);
  at::Tensor codes_BKT;
  std::tie(codes_BKT, lengths_B) =
      listening.encode(batch.source_audio_BS, batch.source_audio_lens_B);
  return codes_BKT;
}

MoshiStreams MoshiModel::streams_of(const Batch& batch) {
  MoshiStreams out;
  std::tie(out.own_BKT, out.lengths_B) = agent_codes(batch, parts_.codec.get());
  check_books("codes", out.own_BKT, options_.num_codebooks);
  at::Tensor user_lens_B = out.lengths_B;
  out.user_BKT = user_codes(batch, user_lens_B);
  check_books("user_codes", out.user_BKT, options_.num_codebooks, out.own_BKT.size(0));
  check_text(batch.target_tokens_BT, out.own_BKT.size(0));
  const int64_t width = std::min(out.own_BKT.size(2), out.user_BKT.size(2));
  out.own_BKT = out.own_BKT.narrow(2, 0, width);
  out.user_BKT = out.user_BKT.narrow(2, 0, width);
  out.lengths_B = at::minimum(out.lengths_B, user_lens_B).to(at::kLong).clamp_max(width);
  out.text_BT =
      fit_columns(batch.target_tokens_BT.to(at::kLong), width, std::max<int64_t>(parts_.pad, 0));
  return out;
}

std::vector<int64_t> MoshiModel::silent_ids() const {
  std::vector<int64_t> ids{parts_.pad};
  if (options_.end_of_padding_id) ids.push_back(*options_.end_of_padding_id);
  return ids;
}

at::Tensor MoshiModel::shown_text(const at::Tensor& text) const {
  if (!options_.end_of_padding_id || parts_.pad < 0) return text;
  return at::where(text.eq(*options_.end_of_padding_id), at::full_like(text, parts_.pad), text);
}

at::Tensor MoshiModel::text_weights(const at::Tensor& labels_BT, const at::Tensor& valid_BT) const {
  const at::Tensor weights_BT = valid_BT.to(at::kFloat);
  if (options_.text_padding_weight == 1 || parts_.pad < 0) return weights_BT;
  return at::where(shown_text(labels_BT).eq(parts_.pad), weights_BT * options_.text_padding_weight,
                   weights_BT);
}

MoshiStep MoshiModel::prepare(const MoshiStreams& streams) const {
  if (options_.as_transformers()) return as_class(streams);
  MoshiStep step;
  const int64_t width = streams.text_BT.size(1);
  const at::Tensor own_BKT = delayed(streams.own_BKT);
  const at::Tensor user_BKT = delayed(streams.user_BKT);
  const auto shifted_right = [&](const at::Tensor& codes_BKT) {
    return at::cat({no_codes(codes_BKT), codes_BKT.narrow(2, 0, width - 1)}, 2);
  };
  const at::Tensor first_B1 = at::full_like(streams.text_BT.narrow(1, 0, 1), options_.vocab_size);
  step.inputs = {at::cat({first_B1, streams.text_BT.narrow(1, 0, width - 1)}, 1),
                 shifted_right(own_BKT), shifted_right(user_BKT), streams.lengths_B};
  const at::Tensor valid_BT = length_mask(streams.lengths_B, width);
  step.text_labels_BT = streams.text_BT;
  step.text_weights_BT = text_weights(streams.text_BT, valid_BT);
  step.depth_text_BT = streams.text_BT;
  step.code_labels_BKT = own_BKT;
  step.code_weights_BKT =
      own_BKT.ne(options_.audio_vocab_size).logical_and(valid_BT.unsqueeze(1)).to(at::kFloat);
  if (options_.first_codebook_weight != 1) {
    step.code_weights_BKT.select(1, 0).mul_(options_.first_codebook_weight);
  }
  return step;
}

MoshiStep MoshiModel::as_class(const MoshiStreams& streams) const {
  MoshiStep step;
  step.inputs = streams;
  const at::Tensor valid_BT = length_mask(streams.lengths_B, streams.text_BT.size(1));
  step.text_labels_BT = shifted_left(streams.text_BT, 0);
  step.text_weights_BT =
      text_weights(step.text_labels_BT, shifted_left(valid_BT.to(at::kLong), 0).gt(0));
  step.depth_text_BT = streams.text_BT;
  step.code_labels_BKT = delayed(streams.own_BKT);
  step.code_weights_BKT = step.code_labels_BKT.ne(options_.audio_vocab_size)
                              .logical_and(valid_BT.unsqueeze(1))
                              .to(at::kFloat);
  step.text_divisor = step.text_weights_BT.sum().item<double>();
  step.depth_divisor = step.code_weights_BKT.sum().item<double>();
  return step;
}

at::Tensor MoshiModel::states(const MoshiStep& step) {
  return decoder_(embed(step.inputs), SequenceInfo{});
}

at::Tensor MoshiModel::depth_states(const MoshiStep& step, const at::Tensor& hidden_BTH) {
  const at::Tensor codes_NK = step.code_labels_BKT.transpose(1, 2).flatten(0, 1);
  DepthInput input;
  input.ids_NK = at::cat(
      {step.depth_text_BT.reshape({-1, 1}), codes_NK.narrow(1, 0, codes_NK.size(1) - 1)}, 1);
  return depth_(hidden_BTH.flatten(0, 1), input);
}

BookLabels MoshiModel::book_labels(const MoshiStep& step, const at::Tensor& states_NKC) const {
  return {
      states_NKC,
      step.code_labels_BKT.transpose(1, 2).flatten(0, 1).clamp_max(options_.audio_vocab_size - 1),
      step.code_weights_BKT.transpose(1, 2).flatten(0, 1)};
}

LossTerms MoshiModel::losses(const MoshiStep& step, const at::Tensor& hidden_BTH,
                             const at::Tensor& states_NKC) {
  LossTerms terms;
  const at::Tensor text_loss = linear_cross_entropy(hidden_BTH.flatten(0, 1), lm_head_.head(),
                                                    step.text_labels_BT.reshape({-1, 1}),
                                                    step.text_weights_BT.reshape({-1, 1})) /
                               std::max(step.text_divisor, 1.0);
  const at::Tensor depth_loss =
      book_loss_sum(book_labels(step, states_NKC), depth_.lm_heads.heads()) /
      std::max(step.depth_divisor, 1.0);
  terms.parts = {{"text_loss", text_loss.detach()}, {"depth_loss", depth_loss.detach()}};
  terms.total = text_loss * options_.text_loss_weight + depth_loss * options_.depth_loss_weight;
  return terms;
}

LossTerms MoshiModel::training_loss(const Batch& batch, const StepContext& context) {
  const MoshiStreams streams = streams_of(batch);
  MoshiStep step = prepare(streams);
  if (options_.as_transformers()) {
    step.text_divisor *= static_cast<double>(context.micro_batches);
    step.depth_divisor *= static_cast<double>(context.micro_batches);
  } else {
    const double frames = context.loss_frames > 0
                              ? context.loss_frames
                              : static_cast<double>(weigh(batch).frames * context.micro_batches);
    step.text_divisor = frames;
    step.depth_divisor = frames * static_cast<double>(options_.num_codebooks);
  }
  const at::Tensor hidden_BTH = states(step);
  return losses(step, hidden_BTH, depth_states(step, hidden_BTH));
}

MetricSums MoshiModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const MoshiStep step = prepare(streams_of(batch));
  const at::Tensor hidden_BTH = states(step);
  MetricSums sums;
  add_head_metrics(hidden_BTH.flatten(0, 1), lm_head_.head(), step.text_labels_BT.flatten(),
                   step.text_weights_BT.flatten(), "text", sums);
  add_book_metrics(book_labels(step, depth_states(step, hidden_BTH)), depth_.lm_heads.heads(),
                   "depth", 0, sums);
  return sums;
}

std::vector<std::string> MoshiModel::metric_names() const {
  std::vector<std::string> names = {"text_loss", "text_accuracy"};
  add_book_names("depth", 0, options_.num_codebooks, names);
  return names;
}

BatchWeight MoshiModel::weigh(const Batch& batch) {
  const CodecShape shape = parts_.codec ? parts_.codec->shape() : CodecShape{};
  const CodeCount own = count_agent_codes(batch, shape);
  const CodeCount user = batch.others.count("user_codes") != 0
                             ? CodeCount{batch.others.at("user_codes").size(2), own.lengths}
                             : count_codes(batch.source_audio_BS, batch.source_audio_lens_B, shape);
  const int64_t width = std::min(own.width, user.width);
  BatchWeight weight;
  weight.padded_frames = batch_rows(batch) * width;
  for (size_t b = 0; b < own.lengths.size(); ++b) {
    weight.frames += std::min({own.lengths[b], user.lengths.at(b), width});
  }
  weight.tokens = weight.frames * (options_.num_codebooks + 1);
  weight.audio_s = static_cast<double>(weight.frames) * parts_.frame_length_s;
  return weight;
}

Batch MoshiModel::probe_batch(const ProbeBatch& shape) {
  Batch batch;
  const auto frames =
      std::max<int64_t>(2, std::llround(std::ceil(shape.duration_s / parts_.frame_length_s)));
  const auto codes = [&] {
    return at::randint(options_.audio_vocab_size, {shape.rows, options_.num_codebooks, frames},
                       at::kLong);
  };
  batch.codes_BKT = codes();
  batch.code_lens_B = at::full({shape.rows}, frames, at::kLong);
  batch.others["user_codes"] = codes();
  batch.target_tokens_BT = at::randint(options_.vocab_size, {shape.rows, frames}, at::kLong);
  batch.target_token_lens_B = batch.code_lens_B.clone();
  batch.ids.assign(static_cast<size_t>(shape.rows), "random");
  return batch;
}

}  // namespace s2s::two_level
