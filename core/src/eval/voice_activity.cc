#include "eval/voice_activity.h"

#include <ATen/ATen.h>

#include "s2s/error.h"

namespace s2s {

namespace {

constexpr double kSilenceDb = -120;

struct Thresholds {
  double start_db;
  double stop_db;
};

/// Speech starts above the noise floor (a low percentile of the levels), but within the range below
/// the loudest frame; at poor signal-to-noise ratios half way between the two.
Thresholds thresholds(std::vector<double> levels_db, const VoiceActivityOptions& options) {
  std::sort(levels_db.begin(), levels_db.end());
  const double loudest_db = levels_db.back();
  const double noise_db = levels_db[levels_db.size() / 10];
  const double over_noise_db =
      std::min(noise_db + options.above_noise_db, (noise_db + loudest_db) / 2);
  const double start_db =
      std::max({options.quietest_speech_db, loudest_db - options.range_db, over_noise_db});
  const double stop_db =
      std::max(start_db - options.hysteresis_db, std::min(noise_db + 3, start_db));
  return {start_db, stop_db};
}

std::vector<SpeechSegment> bridge_gaps(const std::vector<SpeechSegment>& segments, double gap_s) {
  std::vector<SpeechSegment> out;
  for (const SpeechSegment& segment : segments) {
    if (!out.empty() && segment.start_s - out.back().end_s < gap_s) {
      out.back().end_s = segment.end_s;
    } else {
      out.push_back(segment);
    }
  }
  return out;
}

}  // namespace

at::Tensor frame_levels_db(const at::Tensor& samples_S, int64_t samples_per_frame) {
  S2S_ASSERT(samples_S.dim() == 1 && samples_per_frame > 0, "one channel, whole frames");
  const int64_t num_frames = (samples_S.size(0) + samples_per_frame - 1) / samples_per_frame;
  at::Tensor padded_S = at::zeros({num_frames * samples_per_frame}, at::kFloat);
  padded_S.narrow(0, 0, samples_S.size(0)).copy_(samples_S);
  const at::Tensor power_T = padded_S.view({num_frames, samples_per_frame}).square().mean(1);
  return power_T.log10().mul(10).clamp_min(kSilenceDb);
}

std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz,
                                       const VoiceActivityOptions& options) {
  if (!samples_S.defined() || samples_S.numel() == 0) return {};
  const auto samples_per_frame =
      static_cast<int64_t>(std::llround(options.frame_s * static_cast<double>(sample_rate_hz)));
  const at::Tensor levels_T = frame_levels_db(samples_S, samples_per_frame).to(at::kDouble);
  const double* first = levels_T.const_data_ptr<double>();
  const std::vector<double> levels_db(first, first + levels_T.size(0));
  const auto [start_db, stop_db] = thresholds(levels_db, options);

  const double frame_s =
      static_cast<double>(samples_per_frame) / static_cast<double>(sample_rate_hz);
  std::vector<SpeechSegment> segments;
  bool speaking = false;
  for (size_t i = 0; i < levels_db.size(); ++i) {
    const bool was_speaking = speaking;
    speaking = levels_db[i] > (was_speaking ? stop_db : start_db);
    if (!speaking) continue;
    const double start_s = static_cast<double>(i) * frame_s;
    if (!was_speaking) segments.push_back({start_s, start_s});
    segments.back().end_s = static_cast<double>(i + 1) * frame_s;
  }
  segments = bridge_gaps(segments, options.bridge_s);
  std::erase_if(segments, [&](const SpeechSegment& segment) {
    return segment.end_s - segment.start_s < options.shortest_s;
  });
  return segments;
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
