#pragma once
// Decodes frame by frame. If the device has graphs, a frame is recorded once and then replayed.
// Shape letters: B batch, K codebooks, H hidden.

#include "duplex_model.h"
#include "s2s/nn/device_graph.h"

namespace s2s::duplex_s2s {

/// Decodes the frames of a batch of conversations or of slots. The host never waits.
class Frames {
 public:
  /// For a batch, within one scope of autocast. num_frames: the expected number.
  Frames(DuplexModel& model, int64_t batch_size, int64_t num_frames);
  /// For slots.
  Frames(DuplexModel& model, int64_t num_slots);
  /// Starts a conversation in a slot.
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// Predicts the next frame from the user's frame [B, 1, H] of these slots; empty: all.
  DuplexModel::Choice next(const DuplexModel::UserChannel& user,
                           const std::vector<int64_t>& slots = {});

 private:
  /// For all rows. Records the frame if possible.
  const DuplexModel::Choice& next_of_all(const DuplexModel::UserChannel& user);
  /// A frame on memory that does not move.
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
  bool keeps_shapes_;  // each step has all rows, on reserved memory
  bool is_one_scope_;  // all frames are in the same scope of autocast
  DuplexModel::Choice choice_;
  std::unique_ptr<Recorded> recorded_;
  bool may_record_ = true;
  int64_t capacity_ = 0;  // of the last frame's memory
};

}  // namespace s2s::duplex_s2s
