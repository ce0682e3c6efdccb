// CSM speaks texts, frame by frame, after turns that were spoken.

#include "csm_speech.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"
#include "streams.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

/// The row b of a batch, without padding.
CsmRows single_row(const CsmRows& rows, int64_t b, int64_t length) {
  const auto part = [&](const at::Tensor& x) { return x.narrow(0, b, 1).narrow(1, 0, length); };
  return {part(rows.text_BT), part(rows.frames_BTK), part(rows.mask_BT), {}};
}

}  // namespace

CsmModel::Speech::Speech(CsmModel& model, int64_t num_rows, const SpeechOptions& options)
    : model_(model),
      options_(options),
      heads_(model.codebooks_head_.heads()),  // copied once for all frames
      choice_(TokenChoice::of_slots(num_rows, {})),
      state_(model.backbone_.shape().num_layers, num_rows),
      rows_(static_cast<size_t>(num_rows)) {
  for (int64_t b = 0; b < num_rows; ++b) choice_.begin(b, options.sampling);
}

at::Tensor CsmModel::Speech::next_frames(const at::Tensor& state_BH, TokenChoice& choice,
                                         const std::vector<int64_t>& slots) {
  at::Tensor code_B = choice.codes(head_logits(state_BH, model_.lm_head_.head()), slots);
  std::vector<at::Tensor> codes = {code_B};
  SequenceState state(model_.depth_.shape().num_layers);
  SequenceInfo info;
  info.state = &state;
  at::Tensor x_BTH = state_BH.unsqueeze(1);
  for (size_t k = 0; k < heads_.size(); ++k) {
    const int64_t offset = static_cast<int64_t>(k) * model_.options_.vocab_size;
    const at::Tensor code_B1H = model_.codes_(code_B + offset).unsqueeze(1);
    x_BTH = k == 0 ? at::cat({x_BTH, code_B1H}, 1) : code_B1H;
    const at::Tensor states_BTC = model_.depth_(model_.projector_(x_BTH), info);
    code_B =
        choice.codes(head_logits(states_BTC.select(1, states_BTC.size(1) - 1), heads_[k]), slots);
    codes.push_back(code_B);
  }
  return at::stack(codes, 1);
}

void CsmModel::Speech::pass(const at::Tensor& x_BTH, const std::vector<int64_t>& slots) {
  SequenceInfo info;
  info.state = &state_;
  info.rows = slots;
  const at::Tensor hidden_BTH = model_.backbone_(x_BTH, info);
  const at::Tensor codes_BK =
      next_frames(hidden_BTH.select(1, hidden_BTH.size(1) - 1), choice_, slots);
  const at::Tensor on_host_BK = codes_BK.cpu();
  const int64_t later = codes_BK.size(1) - 1;
  const at::Tensor is_end_BK = on_host_BK.eq(model_.options_.codebook_eos_token_id);
  // The last book does not decide, as in transformers.
  const at::Tensor ends_B = is_end_BK.narrow(1, 0, later).all(1);
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto b = static_cast<int64_t>(i);
    Row& row = rows_[static_cast<size_t>(slots[i])];
    row.last_K = codes_BK[b];
    row.frames_K.push_back(on_host_BK[b]);
    row.is_ended = ends_B[b].item<bool>();
  }
}

void CsmModel::Speech::idle_pass(bool is_prompt) {
  const auto integers = at::TensorOptions(at::kLong).device(model_.device());
  CsmRows rows;
  rows.text_BT = at::zeros({1, 1}, integers);
  rows.frames_BTK = at::zeros({1, 1, model_.options_.num_codebooks}, integers);
  rows.mask_BT = at::ones({1, 1}, integers.dtype(at::kBool));
  SequenceState unused(model_.backbone_.shape().num_layers);
  SequenceInfo info;
  info.state = &unused;
  const at::Tensor hidden_1TH =
      model_.backbone_(is_prompt ? model_.embed(rows) : model_.embed_frames(rows.frames_BTK), info);
  TokenChoice greedy(SamplingOptions(), {});
  next_frames(hidden_1TH.select(1, 0), greedy, {});
}

std::vector<int64_t> CsmModel::Speech::open_rows() const {
  std::vector<int64_t> open;
  for (size_t b = 0; b < rows_.size(); ++b) {
    const auto frames = static_cast<int64_t>(rows_[b].frames_K.size());
    if (!rows_[b].is_ended && frames < options_.max_frames) open.push_back(static_cast<int64_t>(b));
  }
  return open;
}

void CsmModel::Speech::run(const std::vector<CsmRows>& prompts) {
  const auto num_rows = static_cast<int64_t>(prompts.size());
  const int64_t num_passes = largest(num_rows);
  for (int64_t b = 0; b < num_passes; ++b) {
    if (b < num_rows) {
      pass(model_.embed(prompts[static_cast<size_t>(b)]), {b});
    } else {
      idle_pass(/*is_prompt=*/true);
    }
  }
  std::vector<int64_t> open = open_rows();
  while (largest(static_cast<int64_t>(!open.empty())) > 0) {
    if (open.empty()) {  // a pass that only other ranks need
      idle_pass(/*is_prompt=*/false);
      continue;
    }
    std::vector<at::Tensor> last;
    for (const int64_t b : open) last.push_back(rows_[static_cast<size_t>(b)].last_K);
    pass(model_.embed_frames(at::stack(last).unsqueeze(1)), open);
    open = open_rows();
  }
}

CsmRows CsmModel::conversation_row(const std::vector<SpokenTurn>& turns) {
  std::vector<at::Tensor> text, frames, mask;
  for (const SpokenTurn& turn : turns) {
    at::Tensor codes_TK;
    if (turn.audio_S.defined()) {
      const FullPrecision full_precision;
      const at::Tensor audio_1S = turn.audio_S.to(device()).unsqueeze(0);
      const at::Tensor length =
          at::full({1}, audio_1S.size(1), audio_1S.options().dtype(at::kLong));
      codes_TK = codec().encode(audio_1S, length).first[0].t().to(at::kLong);
    }
    const CsmRows row = turn_row(turn, codes_TK);
    if (row.text_BT.size(0) == 0) throw no_text_ids_error();
    text.push_back(row.text_BT);
    frames.push_back(row.frames_BTK);
    mask.push_back(row.mask_BT);
  }
  return {at::cat(text).unsqueeze(0), at::cat(frames).unsqueeze(0), at::cat(mask).unsqueeze(0), {}};
}

std::vector<SpokenAnswer> CsmModel::speak(const std::vector<std::vector<SpokenTurn>>& conversations,
                                          const SpeechOptions& options) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  std::vector<CsmRows> prompts;
  for (const auto& turns : conversations) prompts.push_back(conversation_row(turns));
  Speech speech(*this, static_cast<int64_t>(prompts.size()), options);
  speech.run(prompts);
  const CodecShape shape = codec().shape();
  const at::Tensor silence_K = codec().silence_codes();
  std::vector<SpokenAnswer> answers;
  for (const Speech::Row& row : speech.rows()) {
    SpokenAnswer answer;
    answer.is_ended = row.is_ended;
    answer.codes_TK = at::stack(row.frames_K);
    // Of frames that end a turn, only one with the end in all books is not spoken.
    const int64_t last = answer.codes_TK.size(0) - 1;
    if (answer.codes_TK[last].eq(options_.codebook_eos_token_id).all().item<bool>()) {
      answer.codes_TK = answer.codes_TK.narrow(0, 0, last);
    }
    answer.audio_S = at::empty({0});
    if (answer.codes_TK.size(0) > 0) {
      const FullPrecision full_precision;
      const at::Tensor codes_1KT = answer.codes_TK.to(device()).t().unsqueeze(0);
      answer.audio_S =
          codec().decode(codec_codes(codes_1KT, silence_K, shape.codebook_size))[0].cpu();
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

at::Tensor CsmModel::continue_rows(const std::map<std::string, at::Tensor>& inputs,
                                   const std::string& prefix, int64_t count) {
  const at::NoGradGuard no_grad;
  const CsmRows all = rows_from(inputs, prefix);
  const auto given = inputs.find(prefix + "lens");
  const std::vector<int64_t> lengths =
      given == inputs.end()
          ? std::vector<int64_t>(static_cast<size_t>(all.text_BT.size(0)), all.text_BT.size(1))
          : to_vector(given->second);
  std::vector<CsmRows> prompts;
  for (size_t b = 0; b < lengths.size(); ++b) {
    prompts.push_back(single_row(all, static_cast<int64_t>(b), lengths[b]));
  }
  SpeechOptions options;
  options.max_frames = count;
  Speech speech(*this, static_cast<int64_t>(prompts.size()), options);
  speech.run(prompts);
  std::vector<at::Tensor> rows;
  for (const Speech::Row& row : speech.rows()) {
    const auto missing = count - static_cast<int64_t>(row.frames_K.size());
    rows.push_back(at::constant_pad_nd(at::stack(row.frames_K), {0, 0, 0, missing}, -1));
  }
  return at::stack(rows);
}

}  // namespace s2s::two_level
