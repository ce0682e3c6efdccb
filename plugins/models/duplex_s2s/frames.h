#pragma once
// Frame after frame of decoding. Where the device has graphs, a frame is recorded once and then
// launched as one. Shape letters: B batch, K codebooks, H hidden.

#include "duplex_model.h"
#include "s2s/nn/device_graph.h"

namespace s2s::duplex_s2s {

/// Decodes the frames of a batch of conversations, or of conversations in slots. The host waits for
/// nothing.
class Frames {
 public:
  /// Of a batch. num_frames: how many are expected.
  Frames(DuplexModel& model, int64_t batch_size, int64_t num_frames);
  /// Of slots.
  Frames(DuplexModel& model, int64_t num_slots);
  /// Begins a conversation in a slot.
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// Predicts the next frame from the user's frame [B, 1, H] of these slots; empty: all.
  DuplexModel::Choice next(const DuplexModel::UserChannel& user,
                           const std::vector<int64_t>& slots = {});

 private:
  /// Of all rows, recorded where that can be.
  const DuplexModel::Choice& next_of_all(const DuplexModel::UserChannel& user);
  /// A frame on memory that stays where it is.
  struct Recorded {
    std::unique_ptr<DeviceGraph> graph;
    at::Tensor user_B1H;
    DuplexModel::Choice before, after;
  };
  bool repeats() const;
  bool record(const DuplexModel::UserChannel& user);

  DuplexModel& model_;
  DuplexModel::Memory memory_;
  at::Device device_;
  bool keeps_shapes_;  // all rows are in each step, on memory that is reserved
  DuplexModel::Choice choice_;
  std::unique_ptr<Recorded> recorded_;
  bool may_record_ = true;
  int64_t capacity_ = 0;  // of the memory that the last frame had
};

}  // namespace s2s::duplex_s2s
