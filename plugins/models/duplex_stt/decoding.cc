#include "decoding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "prompts.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/slot_sessions.h"
#include "training_step.h"

namespace s2s::duplex_stt {
namespace {

at::Tensor is_any_of(const at::Tensor& tokens, const std::vector<int64_t>& ids) {
  at::Tensor found = tokens.eq(ids.front());
  for (size_t i = 1; i < ids.size(); ++i) found = found.logical_or(tokens.eq(ids[i]));
  return found;
}

/// Returns [B] bool: whether one of these frames has the token.
at::Tensor occurs(const std::deque<at::Tensor>& frames, int64_t token) {
  at::Tensor found = frames.front().eq(token);
  for (size_t i = 1; i < frames.size(); ++i) found = found.logical_or(frames[i].eq(token));
  return found;
}

void keep_last(std::deque<at::Tensor>& frames, const at::Tensor& tokens_B, int64_t count) {
  frames.push_back(tokens_B);
  while (static_cast<int64_t>(frames.size()) > count) frames.pop_front();
}

}  // namespace

TurnRules::TurnRules(const DecodingOptions& options, const SttParts& parts)
    : options_(&options), parts_(&parts) {}

bool TurnRules::knows_enough() const {
  return frame_ > 0 && frame_ >= options_->force_turn_taking_pad_window;
}

at::Tensor TurnRules::has_ended(const at::Tensor& user_B) const {
  const at::Tensor says_so = is_any_of(user_B, parts_->user_eos);
  const int64_t window = options_->force_turn_taking_pad_window;
  // Silence counts after a token, so the frame before the window is needed.
  if (window == 0 || static_cast<int64_t>(user_.size()) <= window) return says_so;
  at::Tensor is_silent = user_.front().ne(parts_->ids.pad);
  for (size_t i = 1; i < user_.size(); ++i) {
    is_silent = is_silent.logical_and(user_[i].eq(parts_->ids.pad));
  }
  return says_so.logical_or(is_silent);
}

at::Tensor TurnRules::agent_tokens(const FrameTokens& chosen, const at::Tensor& is_prompt_B) {
  if (!options_->force_turn_taking || !chosen.user_B.defined()) return chosen.agent_B;
  at::Tensor agent_B = chosen.agent_B;
  if (knows_enough()) {
    const SpecialIds& ids = parts_->ids;
    const at::Tensor ended = has_ended(chosen.user_B);
    const at::Tensor began =
        is_any_of(chosen.user_B, parts_->user_bos).logical_and(ended.logical_not());
    at::Tensor begins = ended.logical_and(occurs(agent_, ids.bos).logical_not());
    at::Tensor ends = began.logical_and(occurs(agent_, ids.eos).logical_not());
    if (is_prompt_B.defined()) {
      begins = begins.logical_and(is_prompt_B.logical_not());
      ends = ends.logical_and(is_prompt_B.logical_not());
    }
    agent_B = at::where(begins, ids.bos, at::where(ends, ids.eos, agent_B));
  }
  keep_last(agent_, agent_B, options_->force_turn_taking_threshold);
  keep_last(user_, chosen.user_B, options_->force_turn_taking_pad_window + 1);
  ++frame_;
  return agent_B;
}

namespace {

std::vector<int64_t> marks_of(const SpecialIds& ids) { return {ids.pad, ids.bos, ids.eos}; }

}  // namespace

Conversation::Conversation(SttModel& model, int64_t num_rows, TokenChoice choice, size_t num_rules)
    : model_(model),
      state_(std::make_unique<SequenceState>(model.llm().shape().num_layers, num_rows)),
      choice_(std::move(choice)),
      rules_(num_rules, TurnRules(model.options().decoding, model.parts())) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(
      model.named_parameters().front().tensor->device());
  last_.agent_B = at::full({num_rows}, model.parts().ids.pad, options);
  if (model.asr_head() != nullptr) last_.user_B = last_.agent_B;
}

Conversation::Conversation(SttModel& model, int64_t batch_size)
    : Conversation(model, batch_size, TokenChoice(model.sampling(), marks_of(model.parts().ids)),
                   1) {}

Conversation Conversation::of_slots(SttModel& model, int64_t num_slots) {
  return {model, num_slots, TokenChoice::of_slots(num_slots, marks_of(model.parts().ids)),
          static_cast<size_t>(num_slots)};
}

void Conversation::begin(int64_t slot, const SamplingOptions& sampling) {
  state_->reset_row(slot);
  choice_.begin(slot, sampling);
  rules_[static_cast<size_t>(slot)] = TurnRules(model_.options().decoding, model_.parts());
  const at::Tensor row = at::tensor({slot}, at::kLong).to(last_.agent_B.device());
  for (at::Tensor* const tokens : {&last_.agent_B, &last_.user_B}) {
    if (tokens->defined()) *tokens = tokens->index_fill(0, row, model_.parts().ids.pad);
  }
}

FrameTokens Conversation::chosen_tokens(const at::Tensor& hidden_BH,
                                        const std::vector<int64_t>& slots) {
  // NeMo skips the final soft cap of a model family, here as in training.
  at::Tensor logits_BV = model_.llm().logits(hidden_BH, /*soft_cap=*/false);
  const DecodingOptions& decoding = model_.options().decoding;
  const SpecialIds& ids = model_.parts().ids;
  for (const auto& [id, boost] : {std::pair{ids.pad, decoding.inference_pad_boost},
                                  {ids.bos, decoding.inference_bos_boost},
                                  {ids.eos, decoding.inference_eos_boost}}) {
    if (boost != 0) logits_BV.select(-1, id).add_(boost);
  }
  FrameTokens chosen{choice_.text(logits_BV, slots), {}};
  choice_.said(chosen.agent_B, slots);
  if (last_.user_B.defined()) {
    chosen.user_B = head_logits(hidden_BH, model_.asr_head()->head()).argmax(-1);
  }
  return chosen;
}

at::Tensor Conversation::ruled(const FrameTokens& chosen, const at::Tensor& is_prompt_B,
                               const std::vector<int64_t>& slots) {
  if (rules_.size() == 1) return rules_.front().agent_tokens(chosen, is_prompt_B);
  const auto row_of = [](const at::Tensor& rows, int64_t b) {
    return rows.defined() ? rows.narrow(0, b, 1) : rows;
  };
  std::vector<at::Tensor> agent;
  for (int64_t b = 0; b < chosen.agent_B.size(0); ++b) {
    const auto slot = static_cast<size_t>(slots.empty() ? b : slots[static_cast<size_t>(b)]);
    const FrameTokens own = {row_of(chosen.agent_B, b), row_of(chosen.user_B, b)};
    agent.push_back(rules_[slot].agent_tokens(own, row_of(is_prompt_B, b)));
  }
  return at::cat(agent);
}

FrameTokens Conversation::next(const at::Tensor& frame_B1H, const at::Tensor& is_prompt_B,
                               const std::vector<int64_t>& slots) {
  const StepRows rows(slots, last_.agent_B);
  const FrameTokens last = {rows.of(last_.agent_B), rows.of(last_.user_B)};
  const at::Tensor x_B1H =
      model_.decoding_embeds(frame_B1H, last.agent_B.unsqueeze(1),
                             last.user_B.defined() ? last.user_B.unsqueeze(1) : at::Tensor());
  SequenceInfo info;
  info.state = state_.get();
  info.rows = slots;
  FrameTokens chosen = chosen_tokens(model_.llm()(x_B1H, info).squeeze(1), slots);
  if (is_prompt_B.defined()) {
    const int64_t pad = model_.parts().ids.pad;
    chosen.agent_B = at::where(is_prompt_B, pad, chosen.agent_B);
    if (chosen.user_B.defined()) chosen.user_B = at::where(is_prompt_B, pad, chosen.user_B);
  }
  chosen.agent_B = ruled(chosen, is_prompt_B, slots);
  last_ = {rows.replaced(last_.agent_B, chosen.agent_B),
           rows.replaced(last_.user_B, chosen.user_B)};
  return chosen;
}

DecodedTokens decode(SttModel& model, const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                     const Prompts& prompts) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(model);
  const EncoderOutput heard = model.perception().forward(audio_BS, lengths_B);
  at::Tensor frames_BTH = heard.features_BTH;
  DecodedTokens out;
  out.lens_B = heard.lengths_B.to(at::kLong);
  if (prompts.any()) {
    frames_BTH = prepend_rows(model.llm().embed(prompts.tokens_BP), prompts.lens_B, frames_BTH,
                              out.lens_B, 0);
  }
  Conversation conversation(model, audio_BS.size(0));
  std::vector<at::Tensor> agent, user;
  for (int64_t t = 0; t < frames_BTH.size(1); ++t) {
    const at::Tensor is_prompt_B = prompts.any() ? prompts.lens_B.gt(t) : at::Tensor();
    const FrameTokens tokens = conversation.next(frames_BTH.narrow(1, t, 1), is_prompt_B);
    agent.push_back(tokens.agent_B);
    if (tokens.user_B.defined()) user.push_back(tokens.user_B);
  }
  out.agent_BT = at::stack(agent, 1);
  if (!user.empty()) out.user_BT = at::stack(user, 1);
  if (!prompts.any()) return out;
  const int64_t width = heard.features_BTH.size(1);
  for (at::Tensor* tokens_BT : {&out.agent_BT, &out.user_BT}) {
    if (!tokens_BT->defined()) continue;
    *tokens_BT = cut_front(*tokens_BT, prompts.lens_B, out.lens_B, width, 0);
  }
  return out;
}

std::string text_of(const std::vector<int64_t>& ids, const SpecialIds& special,
                    const Tokenizer& tokenizer) {
  std::string text;
  std::vector<int64_t> turn;
  const auto end_turn = [&] {
    const std::string words = tokenizer.decode(turn);
    if (!words.empty()) text += (text.empty() ? "" : " ") + words;
    turn.clear();
  };
  for (const int64_t id : ids) {
    if (id == special.bos || id == special.eos) {
      end_turn();
    } else if (id != special.pad) {
      turn.push_back(id);
    }
  }
  end_turn();
  return text;
}

namespace {

/// Returns the model's own prompt for each of `rows`, or no prompts.
Prompts own_prompts(const SttParts& parts, int64_t rows, at::Device device) {
  if (parts.prompt.empty()) return {};
  const auto length = static_cast<int64_t>(parts.prompt.size());
  const at::Tensor prompt_1P = at::tensor(parts.prompt, at::kLong).to(device).unsqueeze(0);
  return {prompt_1P.expand({rows, length}),
          at::full({rows}, length, at::TensorOptions(at::kLong).device(device))};
}

class Slots final : public SlotDecoder {
 public:
  Slots(SttModel& model, int64_t num_slots)
      : model_(model), conversation_(Conversation::of_slots(model, num_slots)) {}

  void begin(int64_t slot, const SamplingOptions& sampling) override {
    conversation_.begin(slot, sampling);
    const at::Device device = model_.named_parameters().front().tensor->device();
    const Prompts prompts = own_prompts(model_.parts(), 1, device);
    if (!prompts.any()) return;
    const at::Tensor frames_1PH = model_.llm().embed(prompts.tokens_BP);
    const at::Tensor is_prompt_1 = prompts.lens_B.gt(0);
    for (int64_t p = 0; p < frames_1PH.size(1); ++p) {
      conversation_.next(frames_1PH.narrow(1, p, 1), is_prompt_1, {slot});
    }
  }
  at::Tensor next(const at::Tensor& heard_BH, const std::vector<int64_t>& slots) override {
    return conversation_.next(heard_BH.unsqueeze(1), {}, slots).agent_B.unsqueeze(1);
  }
  std::unique_ptr<EncoderStream> open_listener() override {
    return model_.perception().open_stream(1);
  }

 private:
  SttModel& model_;
  Conversation conversation_;
};

}  // namespace

Generation SttModel::answer_after(const Prompts& prompts, const at::Tensor& audio_BS,
                                  const at::Tensor& lengths_B) {
  const DecodedTokens decoded = decode(*this, audio_BS, lengths_B, prompts);
  Generation out;
  out.tokens_text_BT = decoded.agent_BT;
  out.token_lens_B = decoded.lens_B;
  out.tokens_audio_BTK =
      at::empty({decoded.agent_BT.size(0), decoded.agent_BT.size(1), 0}, at::kLong);
  if (parts_.tokenizer == nullptr) return out;
  for (int64_t b = 0; b < audio_BS.size(0); ++b) {
    const int64_t length = decoded.lens_B[b].item<int64_t>();
    const auto text = [&](const at::Tensor& tokens_BT) {
      return text_of(to_vector(tokens_BT[b].narrow(0, 0, length)), parts_.ids, *parts_.tokenizer);
    };
    out.text.push_back(text(decoded.agent_BT));
    if (decoded.user_BT.defined()) out.user_text.push_back(text(decoded.user_BT));
  }
  return out;
}

Generation SttModel::generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                              bool /*decode_audio*/) {
  return answer_after(own_prompts(parts_, audio_BS.size(0), audio_BS.device()), audio_BS,
                      lengths_B);
}

Generation SttModel::answer(const Batch& batch, bool decode_audio) {
  const Prompts prompts = prompts_of(batch);
  if (!prompts.any()) {
    return generate(batch.source_audio_BS, batch.source_audio_lens_B, decode_audio);
  }
  return answer_after(prompts, batch.source_audio_BS, batch.source_audio_lens_B);
}

std::unique_ptr<DuplexSessions> SttModel::open_sessions(int64_t num_slots) {
  return slot_sessions(*this, std::make_unique<Slots>(*this, num_slots), num_slots);
}

}  // namespace s2s::duplex_stt
