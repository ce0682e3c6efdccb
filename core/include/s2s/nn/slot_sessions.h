#pragma once
// Live conversations side by side: what models that decode frame by frame share. A model brings a
// SlotDecoder; hearing, speaking and the order of frames are done here.

#include <memory>
#include <vector>

#include "s2s/kinds/codec.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s {

/// Decodes frames of several conversations, each in a slot. Shape letters: B slots of a step, T
/// frames, K codebooks.
class SlotDecoder {
 public:
  virtual ~SlotDecoder();
  /// Begins a conversation in a slot.
  virtual void begin(int64_t slot, const SamplingOptions& sampling) = 0;
  /// The next frame of these slots, in ascending order, from what they heard: frames of their
  /// listeners, [B, ...] -> tokens [B, 1 + K] int64, text first.
  virtual at::Tensor next(const at::Tensor& heard, const std::vector<int64_t>& slots) = 0;
  /// A stream of one row that takes audio; its frames are in dim 1.
  virtual std::unique_ptr<EncoderStream> open_listener() = 0;
  /// A stream of one row that speaks codes. Default: null, there is no voice.
  virtual std::unique_ptr<CodecStream> open_speaker();
  /// Codes [T, K] of the CPU as the codec takes them, without control codes.
  virtual at::Tensor spoken(const at::Tensor& codes_TK);
};

/// Conversations of `model`, which must outlive them and is in eval mode while they live. The
/// decoder computes a frame of all active slots at once; the host waits for the device once a push.
std::unique_ptr<DuplexSessions> slot_sessions(Model& model, std::unique_ptr<SlotDecoder> decoder,
                                              int64_t num_slots);

}  // namespace s2s
