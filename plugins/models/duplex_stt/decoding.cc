#include "decoding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "prompts.h"

namespace s2s::stt {
namespace {

at::Tensor is_any_of(const at::Tensor& tokens, const std::vector<int64_t>& ids) {
  at::Tensor found = tokens.eq(ids.front());
  for (size_t i = 1; i < ids.size(); ++i) found = found.logical_or(tokens.eq(ids[i]));
  return found;
}

/// [B] bool: one of these frames has the token.
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
    : options_(options), parts_(parts) {}

bool TurnRules::knows_enough() const {
  return frame_ > 0 && frame_ >= options_.force_turn_taking_pad_window;
}

at::Tensor TurnRules::has_ended(const at::Tensor& user_B) const {
  const at::Tensor says_so = is_any_of(user_B, parts_.user_eos);
  const int64_t window = options_.force_turn_taking_pad_window;
  // Silence counts behind a token, so it needs the frame in front of the window.
  if (window == 0 || static_cast<int64_t>(user_.size()) <= window) return says_so;
  at::Tensor is_silent = user_.front().ne(parts_.ids.pad);
  for (size_t i = 1; i < user_.size(); ++i) {
    is_silent = is_silent.logical_and(user_[i].eq(parts_.ids.pad));
  }
  return says_so.logical_or(is_silent);
}

at::Tensor TurnRules::agent_tokens(const FrameTokens& chosen, const at::Tensor& is_prompt_B) {
  if (!options_.force_turn_taking || !chosen.user_B.defined()) return chosen.agent_B;
  at::Tensor agent_B = chosen.agent_B;
  if (knows_enough()) {
    const SpecialIds& ids = parts_.ids;
    const at::Tensor ended = has_ended(chosen.user_B);
    const at::Tensor began =
        is_any_of(chosen.user_B, parts_.user_bos).logical_and(ended.logical_not());
    at::Tensor begins = ended.logical_and(occurs(agent_, ids.bos).logical_not());
    at::Tensor ends = began.logical_and(occurs(agent_, ids.eos).logical_not());
    if (is_prompt_B.defined()) {
      begins = begins.logical_and(is_prompt_B.logical_not());
      ends = ends.logical_and(is_prompt_B.logical_not());
    }
    agent_B = at::where(begins, ids.bos, at::where(ends, ids.eos, agent_B));
  }
  keep_last(agent_, agent_B, options_.force_turn_taking_threshold);
  keep_last(user_, chosen.user_B, options_.force_turn_taking_pad_window + 1);
  ++frame_;
  return agent_B;
}

AgentChoice::AgentChoice(const SamplingOptions& options, const SpecialIds& ids)
    : draws_(options.temperature > 0),
      has_guards_(options.repetition_penalty != 1 || options.no_repeat_ngram_size > 0),
      ids_(ids),
      sampler_(options) {}

at::Tensor AgentChoice::next(const at::Tensor& logits_BV) {
  if (!draws_ && !has_guards_) return logits_BV.argmax(-1);
  const at::Tensor words_BT =
      words_.empty() ? at::empty({logits_BV.size(0), 0}, logits_BV.options().dtype(at::kLong))
                     : at::stack(words_, 1);
  const at::Tensor chosen_B = sampler_.next(logits_BV, words_BT);
  if (has_guards_) {
    words_.push_back(chosen_B.masked_fill(is_any_of(chosen_B, {ids_.pad, ids_.bos, ids_.eos}), -1));
  }
  return chosen_B;
}

Conversation::Conversation(SttModel& model, int64_t batch_size)
    : model_(model),
      state_(model.llm().shape().num_layers),
      choice_(model.sampling(), model.parts().ids),
      rules_(model.options().decoding, model.parts()) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(
      model.named_parameters().front().tensor->device());
  last_.agent_B = at::full({batch_size}, model.parts().ids.pad, options);
  if (model.asr_head() != nullptr) last_.user_B = last_.agent_B;
}

const FrameTokens& Conversation::next(const at::Tensor& frame_B1H, const at::Tensor& is_prompt_B) {
  const bool has_user = last_.user_B.defined();
  const at::Tensor x_B1H = model_.decoding_embeds(
      frame_B1H, last_.agent_B.unsqueeze(1), has_user ? last_.user_B.unsqueeze(1) : at::Tensor());
  SequenceInfo info;
  info.state = &state_;
  const at::Tensor hidden_BH = model_.llm()(x_B1H, info).squeeze(1);
  // NeMo skips a family's final soft cap, here as in training.
  at::Tensor logits_BV = model_.llm().logits(hidden_BH, /*soft_cap=*/false);
  const DecodingOptions& decoding = model_.options().decoding;
  const SpecialIds& ids = model_.parts().ids;
  for (const auto& [id, boost] : {std::pair{ids.pad, decoding.inference_pad_boost},
                                  {ids.bos, decoding.inference_bos_boost},
                                  {ids.eos, decoding.inference_eos_boost}}) {
    if (boost != 0) logits_BV.select(-1, id).add_(boost);
  }
  FrameTokens chosen{choice_.next(logits_BV), {}};
  if (has_user) {
    chosen.user_B = head_logits(hidden_BH, model_.asr_head()->head()).argmax(-1);
  }
  if (is_prompt_B.defined()) {
    chosen.agent_B = at::where(is_prompt_B, ids.pad, chosen.agent_B);
    if (has_user) chosen.user_B = at::where(is_prompt_B, ids.pad, chosen.user_B);
  }
  chosen.agent_B = rules_.agent_tokens(chosen, is_prompt_B);
  last_ = chosen;
  return last_;
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
    const FrameTokens& tokens = conversation.next(frames_BTH.narrow(1, t, 1), is_prompt_B);
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

/// ids [T] of the CPU.
std::vector<int64_t> to_vector(const at::Tensor& ids_T) {
  const at::Tensor ids = ids_T.to(at::kCPU, at::kLong).contiguous();
  return {ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + ids.numel()};
}

/// The model's own prompt in front of each of `rows`; none without one.
Prompts own_prompts(const SttParts& parts, int64_t rows, at::Device device) {
  if (parts.prompt.empty()) return {};
  const auto length = static_cast<int64_t>(parts.prompt.size());
  const at::Tensor prompt_1P = at::tensor(parts.prompt, at::kLong).to(device).unsqueeze(0);
  return {prompt_1P.expand({rows, length}),
          at::full({rows}, length, at::TensorOptions(at::kLong).device(device))};
}

class Session : public DuplexSession {
 public:
  explicit Session(SttModel& model)
      : eval_(model), encoder_(model.perception().open_stream(1)), conversation_(model, 1) {
    const at::NoGradGuard no_grad;
    const at::Device device = model.named_parameters().front().tensor->device();
    const Prompts prompts = own_prompts(model.parts(), 1, device);
    if (!prompts.any()) return;
    const at::Tensor frames_1PH = model.llm().embed(prompts.tokens_BP);
    const at::Tensor is_prompt_1 = prompts.lens_B.gt(0);
    for (int64_t p = 0; p < frames_1PH.size(1); ++p) {
      conversation_.next(frames_1PH.narrow(1, p, 1), is_prompt_1);
    }
  }

  Output push(const at::Tensor& samples_S) override {
    const at::NoGradGuard no_grad;
    return answer(encoder_->push(samples_S.unsqueeze(0)));
  }

  Output finish() override {
    const at::NoGradGuard no_grad;
    return answer(encoder_->finish());
  }

 private:
  Output answer(const at::Tensor& frames_1TH) {
    Output out;
    out.audio_S = at::empty({0}, at::kFloat);
    out.codes_TK = at::empty({0, 0}, at::kLong);
    std::vector<at::Tensor> tokens;
    for (int64_t t = 0; t < frames_1TH.size(1); ++t) {
      tokens.push_back(conversation_.next(frames_1TH.narrow(1, t, 1)).agent_B);
    }
    if (!tokens.empty()) out.text_tokens = to_vector(at::cat(tokens));
    return out;
  }

  EvalScope eval_;
  std::unique_ptr<EncoderStream> encoder_;
  Conversation conversation_;
};

}  // namespace

Generation SttModel::answer_behind(const Prompts& prompts, const at::Tensor& audio_BS,
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
  return answer_behind(own_prompts(parts_, audio_BS.size(0), audio_BS.device()), audio_BS,
                       lengths_B);
}

Generation SttModel::answer(const Batch& batch, bool decode_audio) {
  const Prompts prompts = prompts_of(batch);
  if (!prompts.any()) {
    return generate(batch.source_audio_BS, batch.source_audio_lens_B, decode_audio);
  }
  return answer_behind(prompts, batch.source_audio_BS, batch.source_audio_lens_B);
}

std::unique_ptr<DuplexSession> SttModel::open_session() { return std::make_unique<Session>(*this); }

}  // namespace s2s::stt
