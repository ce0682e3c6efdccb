#include "training_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>

#include "duplex_errors.h"
#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"

namespace s2s::duplex_s2s {

StageWeights stage_weights(const DuplexOptions& options, int64_t step) {
  StageWeights weights{options.text_loss_weight, options.audio_loss_weight,
                       options.user_text.enabled ? options.user_text.loss_weight : 0, true};
  int64_t newest = -1;
  for (const StageOptions& stage : options.stages) {
    if (stage.from_step > step || stage.from_step < newest) continue;
    newest = stage.from_step;
    weights.text = stage.text_loss_weight.value_or(options.text_loss_weight);
    weights.audio = stage.audio_loss_weight.value_or(options.audio_loss_weight);
    if (options.user_text.enabled) {
      weights.user_text = stage.user_text_loss_weight.value_or(options.user_text.loss_weight);
    }
    weights.train_encoder = stage.train_encoder;
  }
  return weights;
}

PreparedBatch TrainingStep::prepare(const Batch& batch, bool encoder_gradients) {
  std::optional<at::NoGradGuard> frozen;
  if (!encoder_gradients) frozen.emplace();
  EncoderOutput heard = m_.perception_.forward(batch.source_audio_BS, batch.source_audio_lens_B);
  frozen.reset();
  return prepare(batch, std::move(heard));
}

PreparedBatch TrainingStep::prepare(const Batch& batch, EncoderOutput heard) {
  PreparedBatch out;
  out.heard = std::move(heard);
  auto [codes_BTK, code_lens_B] = m_.target_codes(batch);
  const int64_t width = std::min(out.heard.features_BTH.size(1), codes_BTK.size(1));
  const SpecialIds& ids = m_.parts_.ids;
  out.heard.features_BTH = out.heard.features_BTH.narrow(1, 0, width);
  out.heard.lengths_B = out.heard.lengths_B.to(at::kLong).clamp_max(width);
  code_lens_B = code_lens_B.to(at::kLong).clamp_max(width);
  const at::Tensor tokens_BT = fit_columns(batch.target_tokens_BT, width, ids.pad);
  out.channels =
      make_channels(tokens_BT, codes_BTK.narrow(1, 0, width).to(at::kLong), ids, m_.speech_);
  if (m_.options_.text_shifts.any_of_agent()) {
    // Moves only the text. Control codes mark where the agent's voice begins and ends.
    const at::Tensor moved_BT = shift_agent_text(tokens_BT, m_.options_.text_shifts, ids);
    out.channels.text_in_BT = moved_BT.narrow(1, 0, width - 1);
    out.channels.text_labels_BT = moved_BT.narrow(1, 1, width - 1);
  }
  out.input_lens_B = out.heard.lengths_B - 1;
  out.valid_lens_B = at::minimum(out.heard.lengths_B, code_lens_B) - 1;
  // Audio labels are one frame late, so a label's frame is the one before its column.
  out.turn_mask_BT = agent_turn_mask(tokens_BT, ids).narrow(1, 0, width - 1);
  if (m_.user_text_ && batch.source_tokens_BT.defined()) {
    out.user_labels_BT = shift_user_text(fit_columns(batch.source_tokens_BT, width, ids.pad),
                                         m_.options_.text_shifts, ids);
  }
  return out;
}

Channels TrainingStep::with_history_noise(const Channels& channels) const {
  const HistoryNoiseOptions& noise = m_.options_.history_noise;
  Channels noisy = channels;
  const auto chance = [&](at::IntArrayRef sizes) {
    return at::rand(sizes, channels.text_in_BT.options().dtype(at::kFloat));
  };
  const int64_t rows = channels.text_in_BT.size(0);
  const int64_t width = channels.text_in_BT.size(1);
  if (noise.text_dropout > 0) {
    noisy.text_in_BT = at::where(chance({rows, width}).lt(noise.text_dropout), m_.parts_.ids.pad,
                                 noisy.text_in_BT);
  }
  if (noise.audio_corruption > 0) {
    const at::Tensor random = at::randint_like(noisy.audio_in_BTK, m_.parts_.codebook_size);
    noisy.audio_in_BTK =
        at::where(chance({rows, width, 1}).lt(noise.audio_corruption), random, noisy.audio_in_BTK);
  }
  if (noise.audio_hidden_sequences > 0) {
    const at::Tensor chosen = chance({rows, 1, 1}).lt(noise.audio_hidden_sequences);
    const at::Tensor rate =
        chance({rows, 1, 1}) * (noise.audio_hidden_max - noise.audio_hidden_min) +
        noise.audio_hidden_min;
    const at::Tensor hidden = chance({rows, width, 1}).lt(rate).logical_and(chosen);
    noisy.audio_in_BTK = at::where(hidden, m_.speech_.delay, noisy.audio_in_BTK);
  }
  return noisy;
}

at::Tensor TrainingStep::true_words(const PreparedBatch& prepared, int64_t width) const {
  const double share = m_.options_.user_text.truth_share;
  if (share <= 0 || !prepared.user_labels_BT.defined()) return {};
  const at::Tensor labels_BT = prepared.user_labels_BT.narrow(1, 0, width);
  const at::Tensor draws = at::rand({labels_BT.size(0), 1}, labels_BT.options().dtype(at::kFloat));
  return at::where(draws.lt(share), labels_BT, -1);
}

at::Tensor TrainingStep::held_text(const PreparedBatch& prepared) const {
  if (!m_.embed_held_text_) return {};
  const at::Tensor& text_BT = prepared.channels.text_in_BT;
  const at::Tensor frames_T = at::arange(text_BT.size(1), text_BT.options());
  const at::Tensor written_BT = at::where(text_BT.eq(m_.parts_.ids.pad), -1, frames_T);
  const at::Tensor newest_BT = std::get<0>(at::cummax(written_BT, 1));
  const at::Tensor held_BT = text_BT.gather(1, newest_BT.clamp_min(0));
  return at::where(newest_BT.lt(0), m_.parts_.ids.pad, held_BT);
}

TrainingStep::States TrainingStep::states(const PreparedBatch& prepared, bool with_noise) {
  const Channels channels = with_noise && m_.options_.history_noise.any()
                                ? with_history_noise(prepared.channels)
                                : prepared.channels;
  const int64_t width = channels.text_in_BT.size(1);
  const at::Tensor truth_BT = with_noise ? true_words(prepared, width) : at::Tensor();
  const DuplexModel::UserChannel user =
      m_.user_channel(prepared.heard.features_BTH.narrow(1, 0, width), truth_BT);
  const at::Tensor x_BTH =
      m_.add_codes(m_.text_embedding(channels.text_in_BT), channels.audio_in_BTK) + user.frames_BTH;
  const at::Tensor hidden_BTH =
      (*m_.parts_.llm)(m_.add_held_text(x_BTH, held_text(prepared)), SequenceInfo{});
  return {m_.text_state(hidden_BTH, user.words), m_.audio_state(hidden_BTH, channels.audio_in_BTK)};
}

at::Tensor TrainingStep::input_embeds(const PreparedBatch& prepared) {
  const Channels& channels = prepared.channels;
  const int64_t width = channels.text_in_BT.size(1);
  const DuplexModel::UserChannel user =
      m_.user_channel(prepared.heard.features_BTH.narrow(1, 0, width), at::Tensor());
  const at::Tensor x_BTH =
      m_.add_codes(m_.text_embedding(channels.text_in_BT), channels.audio_in_BTK) + user.frames_BTH;
  return m_.add_held_text(x_BTH, held_text(prepared));
}

at::Tensor TrainingStep::valid_mask(const PreparedBatch& prepared) const {
  const at::Tensor& labels = prepared.channels.text_labels_BT;
  if (!m_.options_.mask_padding) return at::ones_like(labels, at::kBool);
  return length_mask(prepared.valid_lens_B, labels.size(1));
}

at::Tensor TrainingStep::text_row_weights(const PreparedBatch& prepared) const {
  const TokenLossWeights& by_kind = m_.options_.token_loss_weight;
  if (!m_.options_.mask_padding && by_kind.all_one()) return {};
  return by_kind
      .times(valid_mask(prepared).to(at::kFloat), prepared.channels.text_labels_BT, m_.parts_.ids)
      .reshape({-1, 1});
}

at::Tensor TrainingStep::audio_row_weights(const PreparedBatch& prepared) const {
  const double keep = m_.options_.silence_keep;
  if (!m_.options_.mask_padding && keep >= 1) return {};
  at::Tensor weights = valid_mask(prepared);
  if (keep < 1) {
    const at::Tensor kept = at::rand(weights.sizes(), weights.options().dtype(at::kFloat)).lt(keep);
    weights = weights.logical_and(prepared.turn_mask_BT.logical_or(kept));
  }
  return weights.to(at::kFloat);
}

at::Tensor TrainingStep::text_loss_sum(const at::Tensor& hidden_BTH,
                                       const PreparedBatch& prepared) {
  return linear_cross_entropy(hidden_BTH.flatten(0, 1), m_.parts_.llm->head(),
                              prepared.channels.text_labels_BT.reshape({-1, 1}),
                              text_row_weights(prepared));
}

at::Tensor TrainingStep::audio_loss_sum(const at::Tensor& hidden_BTH,
                                        const PreparedBatch& prepared) {
  at::Tensor rows = hidden_BTH.flatten(0, 1);
  at::Tensor labels = prepared.channels.audio_labels_BTK.flatten(0, 1);
  at::Tensor weights = audio_row_weights(prepared);
  if (weights.defined() && !rows.device().is_cpu()) {  // counting them would make the host wait
    return linear_cross_entropy(rows, m_.audio_head(), labels.contiguous(),
                                weights.reshape({-1, 1}).expand_as(labels));
  }
  if (weights.defined()) {  // leaves out frames without weight
    const at::Tensor kept = weights.flatten().nonzero().squeeze(-1);
    rows = rows.index_select(0, kept);
    labels = labels.index_select(0, kept);
  }
  return linear_cross_entropy(rows, m_.audio_head(), labels.contiguous());
}

at::Tensor TrainingStep::user_text_loss_sum(const PreparedBatch& prepared) {
  const at::Tensor mask = length_mask(prepared.heard.lengths_B, prepared.user_labels_BT.size(1));
  return m_.user_text_->loss_sum(prepared.heard.features_BTH, prepared.user_labels_BT, mask,
                                 m_.parts_.ids.pad);
}

LossTerms TrainingStep::losses(const PreparedBatch& prepared, const StageWeights& weights,
                               double frames) {
  LossTerms terms;
  const auto add = [&](const std::string& name, double weight, const at::Tensor& loss) {
    const at::Tensor weighted = loss * weight;
    terms.total = terms.total.defined() ? terms.total + weighted : weighted;
    terms.parts[name] = loss.detach();
  };
  if (weights.needs_llm()) {
    const States heads = states(prepared, /*with_noise=*/true);
    if (weights.text > 0)
      add("text_loss", weights.text, text_loss_sum(heads.text_BTH, prepared) / frames);
    if (weights.audio > 0) {
      const double divisor = frames * static_cast<double>(m_.parts_.num_codebooks);
      add("audio_loss", weights.audio, audio_loss_sum(heads.audio_BTH, prepared) / divisor);
    }
  }
  if (weights.user_text > 0 && prepared.user_labels_BT.defined()) {
    add("user_text_loss", weights.user_text, user_text_loss_sum(prepared) / frames);
  }
  if (!terms.total.defined()) throw no_loss_error();
  return terms;
}

MetricSums TrainingStep::sums(const PreparedBatch& prepared) {
  MetricSums sums;
  const States heads = states(prepared, /*with_noise=*/false);
  const at::Tensor valid =
      length_mask(prepared.valid_lens_B, prepared.channels.text_labels_BT.size(1)).flatten();
  const at::Tensor text_labels = prepared.channels.text_labels_BT.reshape({-1, 1});
  const CrossEntropyRows text =
      linear_cross_entropy_rows(heads.text_BTH.flatten(0, 1), m_.parts_.llm->head(), text_labels);
  const at::Tensor is_pad = text_labels.squeeze(-1).eq(m_.parts_.ids.pad);
  const at::Tensor text_right = text.predicted_NK.eq(text_labels).squeeze(-1);
  add_sum(sums, "text_loss", text.loss_NK.squeeze(-1), valid);
  add_sum(sums, "text_accuracy", text_right, valid);
  add_sum(sums, "text_pad_accuracy", text_right, valid.logical_and(is_pad));
  add_sum(sums, "text_nonpad_accuracy", text_right, valid.logical_and(is_pad.logical_not()));
  const at::Tensor audio_labels = prepared.channels.audio_labels_BTK.flatten(0, 1).contiguous();
  const CrossEntropyRows audio =
      linear_cross_entropy_rows(heads.audio_BTH.flatten(0, 1), m_.audio_head(), audio_labels);
  const at::Tensor audio_right = audio.predicted_NK.eq(audio_labels);
  add_sum(sums, "audio_loss", audio.loss_NK.mean(1), valid);
  for (int64_t k = 0; k < audio_labels.size(1); ++k) {
    add_sum(sums, "audio_accuracy_" + std::to_string(k), audio_right.select(1, k), valid);
  }
  add_sum(sums, "audio_accuracy", audio_right.to(at::kDouble).mean(1), valid);
  if (prepared.user_labels_BT.defined()) {
    const at::Tensor frames =
        length_mask(prepared.heard.lengths_B, prepared.user_labels_BT.size(1));
    const at::Tensor right =
        m_.user_text_->logits(prepared.heard.features_BTH).argmax(-1).eq(prepared.user_labels_BT);
    const at::Tensor word = prepared.user_labels_BT.ne(m_.parts_.ids.pad);
    add_sum(sums, "user_text_nonpad_accuracy", right, frames.logical_and(word));
    add_sum(sums, "user_text_pad_accuracy", right, frames.logical_and(word.logical_not()));
  }
  return sums;
}

BatchWeight DuplexModel::weigh(const Batch& batch) {
  const at::Tensor lens_B = batch.source_audio_lens_B.to(at::kCPU, at::kLong).contiguous();
  const at::Tensor target_B =
      (batch.codes_BKT.defined() ? batch.code_lens_B : batch.target_audio_lens_B)
          .to(at::kCPU, at::kLong)
          .contiguous();
  const int64_t per_frame = batch.codes_BKT.defined() ? 1 : codec().shape().samples_per_frame;
  const int64_t target_width =
      ((batch.codes_BKT.defined() ? batch.codes_BKT.size(2) : batch.target_audio_BS.size(1)) +
       per_frame - 1) /
      per_frame;
  const int64_t width =
      std::min(perception_.output_width(batch.source_audio_BS.size(1)), target_width);
  BatchWeight weight;
  weight.padded_frames = batch.size() * (width - 1);
  for (int64_t b = 0; b < batch.size(); ++b) {
    int64_t frames = std::min(perception_.output_frames(lens_B.data_ptr<int64_t>()[b]), width);
    if (options_.mask_padding) {
      const int64_t agent = (target_B.data_ptr<int64_t>()[b] + per_frame - 1) / per_frame;
      frames = std::min(frames, agent);
    }
    weight.frames += std::max<int64_t>(frames - 1, 0);  // a single frame has no label
  }
  weight.tokens = weight.frames * (parts_.num_codebooks + 1);
  weight.audio_s = lens_B.sum().item<double>() / static_cast<double>(source_sample_rate_hz());
  add_flops(batch, width - 1, weight);
  return weight;
}

LossTerms DuplexModel::training_loss(const Batch& batch, const StepContext& context) {
  const StageWeights weights = stage_weights(options_, context.step);
  rest_frozen({&perception_.encoder(), parts_.llm.get(), parts_.speech_decoder.get()});
  TrainingStep step(*this);
  const PreparedBatch prepared = step.prepare(batch, weights.train_encoder);
  const bool local = options_.loss_normalization == "local" || context.loss_frames <= 0;
  const double frames =
      local ? static_cast<double>(weigh(batch).frames) * static_cast<double>(context.micro_batches)
            : context.loss_frames;
  return step.losses(prepared, weights, std::max(frames, 1.0));
}

MetricSums DuplexModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  TrainingStep step(*this);
  return step.sums(step.prepare(batch, false));
}

std::vector<std::string> DuplexModel::metric_names() const {
  std::vector<std::string> names = {"text_loss",         "text_accuracy",
                                    "text_pad_accuracy", "text_nonpad_accuracy",
                                    "audio_loss",        "audio_accuracy"};
  for (int64_t k = 0; k < parts_.num_codebooks; ++k) {
    names.push_back("audio_accuracy_" + std::to_string(k));
  }
  if (options_.user_text.enabled) {
    names.insert(names.end(), {"user_text_nonpad_accuracy", "user_text_pad_accuracy"});
  }
  return names;
}

}  // namespace s2s::duplex_s2s
