#include "frames.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "s2s/nn/rows.h"

namespace s2s::duplex_s2s {
namespace {

DuplexModel::Choice copy_of(const DuplexModel::Choice& choice) {
  return {choice.text_B.clone(), choice.codes_BK.clone(), choice.held_B.clone()};
}

void write(const DuplexModel::Choice& from, DuplexModel::Choice& to) {
  to.text_B.copy_(from.text_B);
  to.codes_BK.copy_(from.codes_BK);
  to.held_B.copy_(from.held_B);
}

using Choice = DuplexModel::Choice;

Choice rows_of(const Choice& all, const StepRows& rows) {
  return {rows.of(all.text_B), rows.of(all.codes_BK), rows.of(all.held_B)};
}

/// Replaces some rows of `all`.
Choice with_rows(const Choice& all, const StepRows& rows, const Choice& some) {
  return {rows.replaced(all.text_B, some.text_B), rows.replaced(all.codes_BK, some.codes_BK),
          rows.replaced(all.held_B, some.held_B)};
}

}  // namespace

Frames::Frames(DuplexModel& model, int64_t batch_size, int64_t num_frames)
    : model_(model),
      memory_(model),
      device_(model.named_parameters().front().tensor->device()),
      keeps_shapes_(true),
      is_one_scope_(true),
      choice_(model.initial_choice(batch_size, device_)) {
  memory_.llm.reserve(num_frames, device_);
}

Frames::Frames(DuplexModel& model, int64_t num_slots)
    : model_(model),
      memory_(model, num_slots),
      device_(model.named_parameters().front().tensor->device()),
      keeps_shapes_(num_slots == 1),
      is_one_scope_(false),
      choice_(model.initial_choice(num_slots, device_)) {}

void Frames::begin(int64_t slot, const SamplingOptions& sampling) {
  memory_.begin(slot, sampling);
  recorded_ = nullptr;  // it uses the random stream of the previous conversation
  may_record_ = true;
  choice_ = with_rows(choice_, {{slot}, choice_.text_B}, model_.initial_choice(1, device_));
}

Choice Frames::next(const DuplexModel::UserChannel& user, const std::vector<int64_t>& slots) {
  if (slots.empty() || choice_.text_B.size(0) == 1) return next_of_all(user);
  const StepRows rows(slots, choice_.text_B);
  const Choice chosen = model_.step(user, rows_of(choice_, rows), memory_, slots);
  choice_ = with_rows(choice_, rows, chosen);
  return chosen;
}

const Choice& Frames::next_of_all(const DuplexModel::UserChannel& user) {
  if (keeps_shapes_) memory_.llm.reserve(memory_.llm.length() + 1, device_);
  const bool has_moved = capacity_ != memory_.llm.capacity();
  capacity_ = memory_.llm.capacity();
  if (has_moved) recorded_ = nullptr;
  // The first frame on new memory allocates it.
  const bool is_recorded = !has_moved && repeats() && (recorded_ || record(user));
  if (!is_recorded) {
    choice_ = model_.step(user, choice_, memory_);
    return choice_;
  }
  recorded_->user_B1H.copy_(user.frames_BTH);
  write(choice_, recorded_->before);
  recorded_->graph->replay();
  memory_.llm.advance_host(1);
  choice_ = copy_of(recorded_->after);
  return choice_;
}

bool Frames::repeats() const {
  // Autocast frees its copies of the weights, which a graph reads, at the end of its scope.
  return may_record_ && keeps_shapes_ && !device_.is_cpu() && memory_.choice.steps_repeat() &&
         model_.steps_repeat() &&
         (is_one_scope_ || !at::autocast::is_autocast_enabled(device_.type()));
}

bool Frames::record(const DuplexModel::UserChannel& user) {
  auto recorded = std::make_unique<Recorded>();
  recorded->graph = make_device_graph(device_);
  may_record_ = recorded->graph != nullptr;
  if (!may_record_) return false;
  recorded->user_B1H = user.frames_BTH.clone();
  recorded->before = copy_of(choice_);
  const auto frame = [&] {
    recorded->after = model_.step({recorded->user_B1H, {}}, recorded->before, memory_);
  };
  const int64_t length = memory_.llm.length();
  may_record_ = recorded->graph->record(frame, memory_.choice.generators(device_));
  // The frame was recorded, not run. A failed recording may not have reached the next length.
  memory_.llm.advance_host(length - memory_.llm.length());
  if (may_record_) recorded_ = std::move(recorded);
  return may_record_;
}

}  // namespace s2s::duplex_s2s
