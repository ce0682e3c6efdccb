#include "training_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "answer_metrics.h"
#include "prompts.h"
#include "s2s/model_flops.h"
#include "stt_errors.h"

namespace s2s::duplex_stt {
namespace {

const at::Tensor* find(const Batch& batch, const std::string& name) {
  const auto found = batch.others.find(name);
  return found == batch.others.end() ? nullptr : &found->second;
}

/// Returns [B, T] bool: the positions up to and including the first `mark`.
at::Tensor until_first(const at::Tensor& labels_BT, int64_t mark) {
  const at::Tensor is_mark = labels_BT.eq(mark).to(at::kLong);
  return (is_mark.cumsum(1) - is_mark).eq(0);
}

/// As NeMo, checks the task of the first row only.
bool is_asr_task(const Batch& batch) {
  const at::Tensor* const task = find(batch, "task_is_asr");
  return task != nullptr && task->numel() > 0 && task->flatten()[0].item<int64_t>() != 0;
}

}  // namespace

Prompts prompts_of(const Batch& batch) {
  const at::Tensor* const tokens = find(batch, "prompt_tokens");
  if (tokens == nullptr || tokens->size(1) == 0) return {};
  return {tokens->to(at::kLong), batch.others.at("prompt_token_lens").to(at::kLong)};
}

std::vector<PaddedTensor> SttModel::padded_tensors() const {
  return {{"prompt_tokens", "prompt_token_lens"}};
}

PreparedBatch TrainingStep::prepare(const Batch& batch) {
  const SpecialIds& ids = m_.parts().ids;
  const bool has_user = m_.asr_head() != nullptr;
  if (has_user && !batch.source_tokens_BT.defined()) throw_no_user_text();
  PreparedBatch out;
  out.heard = m_.perception().forward(batch.source_audio_BS, batch.source_audio_lens_B);
  out.frames_BTH = out.heard.features_BTH;
  at::Tensor frame_lens_B = out.heard.lengths_B.to(at::kLong);
  at::Tensor agent_BT = batch.target_tokens_BT;
  at::Tensor agent_lens_B = batch.target_token_lens_B;
  at::Tensor user_BT = has_user ? batch.source_tokens_BT : at::Tensor();
  const Prompts prompts = prompts_of(batch);
  if (prompts.any()) {
    const int64_t longest = prompts.tokens_BP.size(1);
    out.frames_BTH = prepend_rows(m_.llm().embed(prompts.tokens_BP), prompts.lens_B, out.frames_BTH,
                                  frame_lens_B, 0);
    agent_BT = prepend_silence(agent_BT, agent_lens_B, prompts.lens_B, longest, ids.pad);
    if (has_user) {
      user_BT =
          prepend_silence(user_BT, batch.source_token_lens_B, prompts.lens_B, longest, ids.pad);
    }
    frame_lens_B = frame_lens_B + prompts.lens_B;
    agent_lens_B = agent_lens_B + prompts.lens_B;
  }
  out.input_lens_B = frame_lens_B - 1;
  agent_BT = fit_columns(agent_BT, out.frames_BTH.size(1), ids.pad);
  out.agent_BT = shift_agent_text(agent_BT, options_.shifts, ids);
  if (has_user) {
    const int64_t width = std::min(agent_BT.size(1), user_BT.size(1));
    out.agent_BT = out.agent_BT.narrow(1, 0, width);
    out.frames_BTH = out.frames_BTH.narrow(1, 0, width);
    out.user_BT = shift_user_text(user_BT.narrow(1, 0, width), options_.shifts, ids);
  }
  const at::Tensor t_1T = at::arange(out.positions(), agent_lens_B.options()).unsqueeze(0);
  out.mask_BT = options_.mask_sequence_loss ? t_1T.lt(agent_lens_B.unsqueeze(1))
                                            : at::ones_like(out.agent_labels(), at::kBool);
  out.agent_weights_BT = label_weights(out.agent_labels(), out.mask_BT);
  if (options_.has_token_loss_weight && is_asr_task(batch)) {
    // The agent's silence in ASR data is not trained. NeMo checks that the key exists, even if its
    // weights are equal.
    out.agent_weights_BT = out.agent_weights_BT * until_first(out.agent_labels(), ids.bos);
  }
  if (has_user) out.user_weights_BT = label_weights(out.user_labels(), out.mask_BT);
  return out;
}

at::Tensor TrainingStep::label_weights(const at::Tensor& labels_BT,
                                       const at::Tensor& mask_BT) const {
  return options_.token_loss_weight.times(mask_BT.to(at::kFloat), labels_BT, m_.parts().ids);
}

at::Tensor TrainingStep::input_embeds(const PreparedBatch& prepared) {
  const int64_t width = prepared.positions();
  const at::Tensor user_BT =
      prepared.user_BT.defined() ? prepared.user_BT.narrow(1, 0, width) : at::Tensor();
  return m_.input_embeds(prepared.frames_BTH.narrow(1, 0, width),
                         prepared.agent_BT.narrow(1, 0, width), user_BT);
}

at::Tensor TrainingStep::hidden(const PreparedBatch& prepared) {
  return m_.llm()(input_embeds(prepared), SequenceInfo());
}

LossSums TrainingStep::channel_losses(const PreparedBatch& prepared, const at::Tensor& hidden_BTH) {
  const at::Tensor rows_NH = hidden_BTH.flatten(0, 1);
  LossSums sums;
  sums.agent =
      linear_cross_entropy(rows_NH, m_.llm().head(), prepared.agent_labels().reshape({-1, 1}),
                           prepared.agent_weights_BT.reshape({-1, 1}));
  if (m_.asr_head() == nullptr) return sums;
  sums.user =
      linear_cross_entropy(rows_NH, m_.asr_head()->head(), prepared.user_labels().reshape({-1, 1}),
                           prepared.user_weights_BT.reshape({-1, 1}));
  return sums;
}

at::Tensor TrainingStep::text_loss(const Batch& batch) {
  const int64_t width = batch.text_BT.size(1) - 1;
  for (const DocumentSpan& document : batch.documents) {
    if (document.begin > 0) throw_packed_text();
  }
  const at::Tensor hidden_BTH =
      m_.llm()(m_.llm().embed(batch.text_BT.narrow(1, 0, width)), SequenceInfo());
  const at::Tensor labels_N1 = batch.text_labels_BT.narrow(1, 1, width).reshape({-1, 1});
  const at::Tensor counts_N1 = labels_N1.ge(0).to(at::kFloat);
  return linear_cross_entropy(hidden_BTH.flatten(0, 1), m_.llm().head(), labels_N1.clamp_min(0),
                              counts_N1) /
         counts_N1.sum().clamp_min(1);
}

LossTerms TrainingStep::terms(const LossSums& sums, double frames, double text_parts) const {
  LossTerms terms;
  const double text_share = options_.text_to_text_loss_weight;
  const auto add = [&](double weight, const at::Tensor& loss) {
    const at::Tensor weighted = loss * weight;
    terms.total = terms.total.defined() ? terms.total + weighted : weighted;
  };
  if (sums.agent.defined()) {
    const at::Tensor agent = sums.agent / frames;
    at::Tensor audio = agent * options_.text_loss_weight;
    terms.parts["audio_to_text_loss"] = agent.detach();
    if (sums.user.defined()) {
      const at::Tensor user = sums.user / frames;
      audio = audio + user * options_.asr_loss_weight;
      terms.parts["asr_loss"] = user.detach();
    }
    terms.parts["audio_loss"] = audio.detach();
    add(1 - text_share, audio);
  }
  if (sums.text.defined()) {
    const at::Tensor text = sums.text / text_parts;
    terms.parts["text_to_text_loss"] = text.detach();
    add(text_share, text);
  }
  S2S_ASSERT(terms.total.defined(), "a batch has audio or text");
  return terms;
}

namespace {

void add_channel(MetricSums& sums, const std::string& channel, const CrossEntropyRows& rows,
                 const at::Tensor& labels_N, const at::Tensor& valid_N, int64_t pad) {
  const at::Tensor is_pad = labels_N.eq(pad);
  const at::Tensor right = rows.predicted_NK.squeeze(-1).eq(labels_N);
  add_sum(sums, channel + "_loss", rows.loss_NK.squeeze(-1), valid_N);
  add_sum(sums, channel + "_accuracy", right, valid_N);
  add_sum(sums, channel + "_pad_accuracy", right, valid_N.logical_and(is_pad));
  add_sum(sums, channel + "_nonpad_accuracy", right, valid_N.logical_and(is_pad.logical_not()));
}

}  // namespace

MetricSums TrainingStep::metrics(const PreparedBatch& prepared) {
  MetricSums sums;
  const at::Tensor rows_NH = hidden(prepared).flatten(0, 1);
  const at::Tensor t_1T =
      at::arange(prepared.positions(), prepared.input_lens_B.options()).unsqueeze(0);
  const at::Tensor valid_N =
      t_1T.lt(prepared.input_lens_B.unsqueeze(1)).logical_and(prepared.mask_BT).flatten();
  const int64_t pad = m_.parts().ids.pad;
  const at::Tensor agent_N1 = prepared.agent_labels().reshape({-1, 1});
  add_channel(sums, "text", linear_cross_entropy_rows(rows_NH, m_.llm().head(), agent_N1),
              agent_N1.squeeze(-1), valid_N, pad);
  if (m_.asr_head() == nullptr) return sums;
  const at::Tensor user_N1 = prepared.user_labels().reshape({-1, 1});
  add_channel(sums, "asr", linear_cross_entropy_rows(rows_NH, m_.asr_head()->head(), user_N1),
              user_N1.squeeze(-1), valid_N, pad);
  return sums;
}

BatchWeight SttModel::weigh(const Batch& batch) {
  BatchWeight weight;
  if (batch.text_BT.defined()) {
    add_flops(batch.text_BT.size(0), batch.text_BT.size(1) - 1, weight);
    weight.tokens +=
        batch.text_labels_BT.narrow(1, 1, batch.text_BT.size(1) - 1).ge(0).sum().item<int64_t>();
  }
  if (!batch.source_audio_BS.defined()) {
    weight.frames = weight.tokens;
    weight.padded_frames = batch.text_BT.size(0) * (batch.text_BT.size(1) - 1);
    weight.loss_frames = 0;
    return weight;
  }
  const at::Tensor lens_B = batch.source_audio_lens_B.to(at::kCPU, at::kLong).contiguous();
  const Encoder& encoder = perception_.encoder();
  int64_t width = encoder.output_width(batch.source_audio_BS.size(1));
  const Prompts prompts = prompts_of(batch);
  at::Tensor prompt_lens_B = at::zeros_like(lens_B);
  if (prompts.any()) {
    prompt_lens_B = prompts.lens_B.to(at::kCPU).contiguous();
    width += prompts.tokens_BP.size(1);
  }
  const int64_t rows = lens_B.size(0);  // text data may have another number of rows
  weight.padded_frames = rows * (width - 1);
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t heard = encoder.output_frames(lens_B.const_data_ptr<int64_t>()[b]);
    weight.frames += std::max<int64_t>(heard + prompt_lens_B.const_data_ptr<int64_t>()[b] - 1, 0);
  }
  weight.tokens += weight.frames * (user_ ? 2 : 1);
  weight.audio_s = lens_B.sum().item<double>() / static_cast<double>(source_sample_rate_hz());
  add_flops(rows, width - 1, weight);
  weight.encoder_flops = encoder_flops(perception_.encoder(), batch.source_audio_BS.size(0),
                                       batch.source_audio_BS.size(1));
  return weight;
}

LossTerms SttModel::training_loss(const Batch& batch, const StepContext& context) {
  rest_frozen({&perception_.encoder(), parts_.llm.get()});
  TrainingStep step(*this);
  LossSums sums;
  double frames = 1;
  const auto parts = static_cast<double>(context.micro_batches);
  if (batch.source_audio_BS.defined()) {
    const PreparedBatch prepared = step.prepare(batch);
    sums = step.channel_losses(prepared, step.hidden(prepared));
    const bool local = options_.loss_normalization == "local" || context.loss_frames <= 0;
    frames = local ? static_cast<double>(weigh(batch).frames) * parts : context.loss_frames;
  }
  if (batch.text_BT.defined()) sums.text = step.text_loss(batch);
  return step.terms(sums, std::max(frames, 1.0), parts);
}

MetricSums SttModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  TrainingStep step(*this);
  MetricSums sums;
  if (batch.source_audio_BS.defined()) {
    sums = step.metrics(step.prepare(batch));
    if (options_.answer_metrics) add_answer_metrics(*this, batch, sums);
  }
  if (batch.text_BT.defined()) {
    auto& [sum, count] = sums["text_to_text_loss"];
    const auto labels = static_cast<double>(
        batch.text_labels_BT.narrow(1, 1, batch.text_BT.size(1) - 1).ge(0).sum().item<int64_t>());
    sum += step.text_loss(batch).item<double>() * labels;
    count += labels;
  }
  return sums;
}

std::vector<std::string> SttModel::metric_names() const {
  std::vector<std::string> names = {"text_loss", "text_accuracy", "text_pad_accuracy",
                                    "text_nonpad_accuracy"};
  const bool answers = options_.answer_metrics;
  if (answers) names.insert(names.end(), {"turn_taking_acc", "turn_taking_latency"});
  if (!user_) return names;
  names.insert(names.end(),
               {"asr_loss", "asr_accuracy", "asr_pad_accuracy", "asr_nonpad_accuracy"});
  if (answers) names.emplace_back("src_empty_text_rate");
  return names;
}

}  // namespace s2s::duplex_stt
