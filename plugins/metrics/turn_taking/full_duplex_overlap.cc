#include "full_duplex_overlap.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "praat_voice.h"
#include "rounding.h"
#include "s2s/scores/turn_taking.h"

namespace s2s::turn_taking {
namespace {

constexpr double kUserGap_s = 0.6;  // shorter ones are bridged
constexpr double kAgentGap_s = 0.5;
constexpr double kVoiceStep_s = 0.01;  // of pitch and intensity
constexpr double kTrimmed_percent = 5;

std::vector<SpeechSegment> bridged(std::vector<SpeechSegment> segments, double longest_gap_s) {
  std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
    return std::pair(a.start_s, a.end_s) < std::pair(b.start_s, b.end_s);
  });
  std::vector<SpeechSegment> out;
  for (const SpeechSegment& segment : segments) {
    if (!out.empty() && segment.start_s - out.back().end_s <= longest_gap_s) {
      out.back().end_s = std::max(out.back().end_s, segment.end_s);
    } else {
      out.push_back(segment);
    }
  }
  return out;
}

int64_t key_of(double time_s) { return std::llrint(time_s * 1000); }

std::vector<SpeechSegment> in_milliseconds(const std::map<int64_t, SpeechSegment>& by_end) {
  std::vector<SpeechSegment> out;
  for (const auto& [key, segment] : by_end) {
    out.push_back({rounded(segment.start_s, 3), rounded(segment.end_s, 3)});
  }
  return out;
}

/// Mean and deviation.
struct Spread {
  double mean = 0, deviation = 0;

  explicit Spread(const std::vector<double>& values) {
    if (values.empty()) return;
    const auto count = static_cast<double>(values.size());
    mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    if (values.size() == 1) return;
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    deviation = std::sqrt(sum / (count - 1));
  }
};

Spread pitch_of(const VoiceSamples& voice) {
  const PitchRange range;
  std::vector<double> pitch_hz = praat_pitch_hz(voice, range, kVoiceStep_s);
  std::erase_if(pitch_hz, [&](double hz) { return hz <= 0 || hz > range.ceiling_hz; });
  return Spread(pitch_hz);
}

/// In dB re full scale, of frames side by side: for a voice that is too short for Praat.
std::vector<double> levels_of(const VoiceSamples& voice) {
  const auto frame = static_cast<size_t>(std::llround(voice.rate_hz * kVoiceStep_s));
  std::vector<double> out;
  for (size_t begin = 0; begin < voice.samples.size(); begin += frame) {
    const size_t end = std::min(begin + frame, voice.samples.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += voice.samples[i] * voice.samples[i];
    out.push_back(10 * std::log10(sum / static_cast<double>(end - begin) + 1e-10));
  }
  return out;
}

Spread intensity_of(const VoiceSamples& voice) {
  std::vector<double> intensity_db = praat_intensity_db(voice, kVoiceStep_s);
  std::erase_if(intensity_db, [](double db) { return db <= -200; });
  return Spread(intensity_db.empty() ? levels_of(voice) : intensity_db);
}

/// The speech of a clip, joined; all of it if there is none.
VoiceSamples voice_of(const at::Tensor& samples_S, const std::vector<SampleSpan>& speech) {
  VoiceSamples out;
  out.rate_hz = static_cast<double>(SileroNetwork::kRate_hz);
  const at::Tensor contiguous_S = samples_S.to(at::kCPU, at::kFloat).contiguous();
  const float* const first = contiguous_S.const_data_ptr<float>();
  const auto append = [&](int64_t begin, int64_t end) {
    out.samples.insert(out.samples.end(), first + begin, first + end);
  };
  for (const SampleSpan& span : speech) append(span.begin, span.end);
  if (speech.empty()) append(0, contiguous_S.numel());
  return out;
}

}  // namespace

OverlapTiming overlap_timing(const std::vector<SpeechSegment>& user,
                             const std::vector<SpeechSegment>& agent) {
  const std::vector<SpeechSegment> users = bridged(user, kUserGap_s);
  const std::vector<SpeechSegment> agents = bridged(agent, kAgentGap_s);
  std::map<int64_t, SpeechSegment> stops, responses;
  for (size_t i = 0, j = 0; i < users.size() && j < agents.size();) {
    const SpeechSegment both = {std::max(users[i].start_s, agents[j].start_s),
                                std::min(users[i].end_s, agents[j].end_s)};
    if (both.end_s > both.start_s) {
      const auto [known, is_new] = stops.try_emplace(key_of(both.end_s), both);
      const bool is_shorter =
          both.end_s - both.start_s < known->second.end_s - known->second.start_s;
      if (!is_new && is_shorter) known->second = both;
    }
    users[i].end_s < agents[j].end_s ? ++i : ++j;
  }
  for (const SpeechSegment& segment : users) {
    const auto next = std::find_if(agents.begin(), agents.end(), [&](const SpeechSegment& of) {
      return of.start_s > segment.end_s;
    });
    if (next == agents.end()) continue;
    // A later user is nearer to it.
    responses[key_of(next->start_s)] = {segment.end_s, next->start_s};
  }
  return {in_milliseconds(stops), in_milliseconds(responses)};
}

double split_time_s(const std::vector<RecognizedWord>& words, double end_s) {
  if (words.empty()) return end_s;
  std::vector<RecognizedWord> sorted = words;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  for (const RecognizedWord& word : sorted) {
    if (end_s < word.start_s || end_s < word.end_s) return word.start_s;
  }
  return sorted.back().end_s;
}

SileroOptions before_after_vad(const std::optional<std::string>& path) {
  SileroOptions options;
  options.path = path;
  options.min_speech_duration_ms = 60;
  options.min_silence_duration_ms = 50;
  return options;
}

VoiceNumbers voice_numbers(const at::Tensor& samples_S, const std::vector<SampleSpan>& speech,
                           const std::vector<RecognizedWord>& words) {
  const double spoken_s =
      words.empty() ? 0 : std::max(0.0, words.back().end_s - words.front().start_s);
  const double words_per_minute =
      spoken_s > 0 ? static_cast<double>(words.size()) / (spoken_s / 60) : 0;
  const VoiceSamples voice = voice_of(samples_S, speech);
  const Spread pitch = pitch_of(voice), intensity = intensity_of(voice);
  return {words_per_minute, spoken_s,       pitch.mean,
          pitch.deviation,  intensity.mean, intensity.deviation};
}

double trimmed_mean(const std::vector<double>& values) {
  constexpr size_t kTooFew = 3;  // all of fewer values count
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  if (values.size() >= kTooFew) {
    low = *percentile(values, kTrimmed_percent);
    high = *percentile(values, 100 - kTrimmed_percent);
  }
  double sum = 0, count = 0;
  for (const double value : values) {
    if (value < low || value > high) continue;
    sum += value;
    ++count;
  }
  return sum / count;
}

}  // namespace s2s::turn_taking
