#include "moshi_conversation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/slot_sessions.h"
#include "streams.h"

namespace s2s::two_level {
namespace {

/// Book 0 of `first` and the later books of `later`, both [B, K].
at::Tensor joined_books(const at::Tensor& first_BK, const at::Tensor& later_BK) {
  return at::cat({first_BK.narrow(1, 0, 1), later_BK.narrow(1, 1, later_BK.size(1) - 1)}, 1);
}

}  // namespace

MoshiModel::Conversation::Conversation(MoshiModel& model, int64_t num_rows, at::Device device,
                                       TokenChoice choice)
    : model_(model),
      device_(device),
      choice_(std::move(choice)),
      state_(model.options_.num_hidden_layers, num_rows),
      last_(first(num_rows)) {}

MoshiModel::Conversation::Conversation(MoshiModel& model, int64_t batch_size, at::Device device,
                                       Prompt prompt)
    : Conversation(model, batch_size, device, TokenChoice(model.sampling_, model.silent_ids())) {
  prompt_ = std::move(prompt);
}

MoshiModel::Conversation::Conversation(MoshiModel& model, int64_t num_slots, at::Device device)
    : Conversation(model, num_slots, device, TokenChoice::of_slots(num_slots, model.silent_ids())) {
  has_slots_ = true;
}

MoshiModel::Conversation::Last MoshiModel::Conversation::first(int64_t num_rows) const {
  const auto ids = at::TensorOptions(at::kLong).device(device_);
  Last last;
  last.text_B = at::full({num_rows}, model_.options_.vocab_size, ids);
  last.own_BK =
      model_.no_codes(at::empty({num_rows, model_.options_.num_codebooks, 0}, ids)).squeeze(2);
  last.user_BK = last.user_late_BK = last.own_BK;
  return last;
}

MoshiModel::Conversation::Last MoshiModel::Conversation::last_of(
    const std::vector<int64_t>& slots) const {
  const StepRows rows(slots, last_.text_B);
  return {rows.of(last_.text_B), rows.of(last_.own_BK), rows.of(last_.user_BK),
          rows.of(last_.user_late_BK)};
}

void MoshiModel::Conversation::keep(const Last& last, const std::vector<int64_t>& slots) {
  const StepRows rows(slots, last_.text_B);
  last_ = {rows.replaced(last_.text_B, last.text_B), rows.replaced(last_.own_BK, last.own_BK),
           rows.replaced(last_.user_BK, last.user_BK),
           rows.replaced(last_.user_late_BK, last.user_late_BK)};
}

void MoshiModel::Conversation::begin(int64_t slot, const SamplingOptions& sampling) {
  state_.reset_row(slot);
  choice_.begin(slot, sampling);
  Last last = first(1);
  step(last, {slot}, 0);  // the first step has no input of the user
  keep(last, {slot});
}

void MoshiModel::Conversation::step(Last& last, const std::vector<int64_t>& slots, int64_t number) {
  SequenceInfo info;
  info.state = &state_;
  info.rows = slots;
  MoshiStreams streams;
  streams.text_BT = last.text_B.unsqueeze(1);
  streams.own_BKT = last.own_BK.unsqueeze(2);
  streams.user_BKT = last.user_BK.unsqueeze(2);
  const at::Tensor state_BH = model_.decoder_(model_.embed(streams), info).squeeze(1);
  last.text_B = number < prompt_.frames()
                    ? prompt_.text_BT.select(1, number)
                    : choice_.text(head_logits(state_BH, model_.lm_head_.head()), slots);
  choice_.said(last.text_B, slots);
  last.own_BK = model_.depth_codes(state_BH, last.text_B, choice_, slots);
  put_prompt(last.own_BK, number);
}

void MoshiModel::Conversation::put_prompt(at::Tensor& codes_BK, int64_t number) const {
  const int64_t later = codes_BK.size(1) - 1;
  if (number < prompt_.frames()) {
    codes_BK.select(1, 0).copy_(prompt_.own_BKT.select(2, number).select(1, 0));
  }
  if (number == 0) {
    codes_BK.narrow(1, 1, later).fill_(model_.options_.audio_vocab_size);
  } else if (number - 1 < prompt_.frames()) {
    codes_BK.narrow(1, 1, later).copy_(prompt_.own_BKT.select(2, number - 1).narrow(1, 1, later));
  }
}

MoshiModel::Conversation::Frame MoshiModel::Conversation::answer(
    const at::Tensor& user_BK, const std::vector<int64_t>& slots) {
  Last last = last_of(slots);
  if (!has_slots_ && steps_ == 0) step(last, slots, steps_++);
  const at::Tensor text_B = last.text_B, said_BK = last.own_BK;
  last.user_BK = joined_books(user_BK, last.user_late_BK);
  last.user_late_BK = user_BK;
  step(last, slots, has_slots_ ? 1 : steps_++);
  keep(last, slots);
  return {model_.shown_text(text_B), joined_books(said_BK, last.own_BK)};
}

namespace {

/// Encodes the user's audio with the codec. Frames are codes [1, T, K].
class Listener final : public EncoderStream {
 public:
  explicit Listener(std::unique_ptr<CodecEncoderStream> stream) : stream_(std::move(stream)) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const FullPrecision full_precision;
    return stream_->push(audio_BS).transpose(1, 2);
  }
  at::Tensor finish() override {
    const FullPrecision full_precision;
    return stream_->finish().transpose(1, 2);
  }

 private:
  std::unique_ptr<CodecEncoderStream> stream_;
};

class Slots final : public SlotDecoder {
 public:
  Slots(MoshiModel& model, int64_t num_slots, at::Device device)
      : codec_(model.codec()),
        silence_K_(codec_.silence_codes().cpu()),
        conversation_(model, num_slots, device) {}

  void begin(int64_t slot, const SamplingOptions& sampling) override {
    conversation_.begin(slot, sampling);
  }
  at::Tensor next(const at::Tensor& heard_BK, const std::vector<int64_t>& slots) override {
    const auto frame = conversation_.answer(heard_BK, slots);
    return at::cat({frame.text_B.unsqueeze(1), frame.codes_BK}, 1);
  }
  std::unique_ptr<EncoderStream> open_listener() override {
    return std::make_unique<Listener>(codec_.open_encoder_stream(1));
  }
  std::unique_ptr<CodecStream> open_speaker() override { return codec_.open_stream(1); }
  at::Tensor spoken(const at::Tensor& codes_TK) override {
    return codec_codes(codes_TK.t().unsqueeze(0), silence_K_, codec_.shape().codebook_size)
        .squeeze(0)
        .t();
  }

 private:
  Codec& codec_;
  at::Tensor silence_K_;
  MoshiModel::Conversation conversation_;
};

}  // namespace

std::unique_ptr<DuplexSessions> MoshiModel::open_sessions(int64_t num_slots) {
  if (!parts_.codec || parts_.codec->open_encoder_stream(1) == nullptr) return nullptr;
  return slot_sessions(*this, std::make_unique<Slots>(*this, num_slots, lm_head_.weight.device()),
                       num_slots);
}

}  // namespace s2s::two_level
