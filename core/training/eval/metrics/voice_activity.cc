#include <ATen/ATen.h>

#include <cmath>

#include "duplex/speech_activity.h"
#include "s2s/error.h"
#include "s2s/scores/turn_taking.h"

namespace s2s {
namespace {

/// Returns the root mean square level of each frame [T] in dB relative to full scale. An incomplete
/// last frame counts as a full frame.
at::Tensor frame_levels_db(const at::Tensor& samples_S, int64_t samples_per_frame) {
  S2S_ASSERT(samples_S.dim() == 1 && samples_per_frame > 0, "one channel, whole frames");
  const int64_t num_frames = (samples_S.size(0) + samples_per_frame - 1) / samples_per_frame;
  at::Tensor padded_S = at::zeros({num_frames * samples_per_frame}, at::kFloat);
  padded_S.narrow(0, 0, samples_S.size(0)).copy_(samples_S);
  const at::Tensor power_T = padded_S.view({num_frames, samples_per_frame}).square().mean(1);
  return power_T.log10().mul(10).clamp_min(kDigitalSilenceDb);
}

}  // namespace

std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz) {
  const VoiceActivityOptions options;
  if (!samples_S.defined() || samples_S.numel() == 0) return {};
  const auto samples_per_frame =
      static_cast<int64_t>(std::llround(options.frame_s * static_cast<double>(sample_rate_hz)));
  const at::Tensor levels_T = frame_levels_db(samples_S, samples_per_frame).to(at::kDouble);
  const double* first = levels_T.const_data_ptr<double>();
  const double frame_s =
      static_cast<double>(samples_per_frame) / static_cast<double>(sample_rate_hz);
  return find_speech({first, static_cast<size_t>(levels_T.size(0))}, frame_s, options);
}

double speech_seconds(const std::vector<SpeechSegment>& segments) {
  double sum_s = 0;
  for (const SpeechSegment& segment : segments) sum_s += segment.end_s - segment.start_s;
  return sum_s;
}

double overlap_seconds(const std::vector<SpeechSegment>& a, const std::vector<SpeechSegment>& b) {
  double sum_s = 0;
  for (const SpeechSegment& x : a) {
    for (const SpeechSegment& y : b) {
      sum_s += std::max(0.0, std::min(x.end_s, y.end_s) - std::max(x.start_s, y.start_s));
    }
  }
  return sum_s;
}

}  // namespace s2s
