#include "duplex/speech_activity.h"

#include <algorithm>
#include <cmath>

#include "s2s/error.h"

namespace s2s {
namespace {

struct Thresholds {
  double start_db;
  double stop_db;
};

/// Speech starts above the noise floor (a low percentile of the levels) and within the range below
/// the loudest frame. At low signal-to-noise ratios the threshold is half way between the two.
Thresholds thresholds(std::span<const double> levels_db, const VoiceActivityOptions& options) {
  const double loudest_db = *std::max_element(levels_db.begin(), levels_db.end());
  const double noise_db = noise_floor_db(levels_db);
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

double noise_floor_db(std::span<const double> levels_db) {
  S2S_ASSERT(!levels_db.empty(), "levels of a clip");
  std::vector<double> levels(levels_db.begin(), levels_db.end());
  const auto tenth = levels.begin() + std::ssize(levels) / 10;
  std::nth_element(levels.begin(), tenth, levels.end());
  return *tenth;
}

std::vector<SpeechSegment> find_speech(std::span<const double> levels_db, double frame_s,
                                       const VoiceActivityOptions& options) {
  if (levels_db.empty()) return {};
  const auto [start_db, stop_db] = thresholds(levels_db, options);
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

std::vector<double> centered_levels_db(std::span<const float> samples, int64_t sample_rate_hz,
                                       double frame_s) {
  S2S_ASSERT(sample_rate_hz > 0 && frame_s > 0, "a rate and a frame");
  const double samples_per_frame = frame_s * static_cast<double>(sample_rate_hz);
  double sum = 0;
  for (const float sample : samples) sum += sample;
  const double mean = samples.empty() ? 0 : sum / static_cast<double>(samples.size());
  std::vector<double> levels_db;
  for (size_t first = 0; first < samples.size();) {
    const double end =
        std::nearbyint(samples_per_frame * static_cast<double>(levels_db.size() + 1));
    const size_t wanted = std::max(first + 1, static_cast<size_t>(end));
    double power = 0;
    for (size_t i = first; i < std::min(wanted, samples.size()); ++i) {
      const double centered = samples[i] - mean;
      power += centered * centered;
    }
    const double level_db = 10 * std::log10(power / static_cast<double>(wanted - first));
    levels_db.push_back(std::max(kDigitalSilenceDb, level_db));
    first = wanted;
  }
  return levels_db;
}

}  // namespace s2s
