#include "voicebench_numbers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rounding.h"
#include "s2s/scores/turn_taking.h"

namespace s2s::turn_taking {
namespace {

constexpr double kEpsilon_s = 1e-9;
constexpr double kSilence_db = -120;
constexpr double kSilence = 1e-6;        // a smaller level is silence
constexpr double kPacketFloor_db = -70;  // a quieter packet is none

/// The sum in the order in which numpy adds.
double pairwise_sum(const double* values, size_t count) {
  constexpr size_t kLanes = 8, kBlock = 128;
  if (count < kLanes) return std::accumulate(values, values + count, 0.0);
  if (count > kBlock) {
    const size_t half = count / 2 - count / 2 % kLanes;
    return pairwise_sum(values, half) + pairwise_sum(values + half, count - half);
  }
  double lanes[kLanes];
  std::copy_n(values, kLanes, lanes);
  size_t i = kLanes;
  for (; i < count - count % kLanes; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) lanes[k] += values[i + k];
  }
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < count; ++i) sum += values[i];
  return sum;
}

int64_t samples_in(double duration_ms, int64_t sample_rate_hz) {
  return std::llrint(duration_ms * static_cast<double>(sample_rate_hz) / 1000);
}

/// The levels of the whole frames of a track.
std::vector<double> levels_db(const VoicebenchTrack& track, size_t frame) {
  std::vector<double> out, squares(frame);
  for (size_t i = 0; i + frame <= track.samples.size(); i += frame) {
    for (size_t k = 0; k < frame; ++k) {
      const auto sample = static_cast<double>(track.samples[i + k]);
      squares[k] = sample * sample;
    }
    const double rms = std::sqrt(pairwise_sum(squares.data(), frame) / static_cast<double>(frame));
    out.push_back(rms <= kSilence ? kSilence_db : std::max(kSilence_db, 20 * std::log10(rms)));
  }
  return out;
}

std::vector<SpeechSegment> segments_in(const std::vector<SpeechSegment>& segments, double start_s,
                                       double end_s) {
  std::vector<SpeechSegment> out;
  for (const SpeechSegment& segment : segments) {
    if (segment.end_s > start_s + kEpsilon_s && segment.start_s < end_s - kEpsilon_s) {
      out.push_back(segment);
    }
  }
  return out;
}

double seconds_of_both(const SpeechSegment& a, const SpeechSegment& b) {
  return std::max(0.0, std::min(a.end_s, b.end_s) - std::max(a.start_s, b.start_s));
}

double rounded_ms(double seconds) { return rounded(seconds * 1000, 1); }

/// When the agent's audio that is no silence is heard first.
std::vector<double> packet_times(const VoicebenchTrack& agent, double packet_ms) {
  const int64_t packet = std::max<int64_t>(1, samples_in(packet_ms, agent.sample_rate_hz));
  std::vector<double> out;
  int64_t begin = 0;
  for (const double level_db : levels_db(agent, static_cast<size_t>(packet))) {
    if (level_db > kPacketFloor_db) {
      out.push_back(static_cast<double>(begin) / static_cast<double>(agent.sample_rate_hz));
    }
    begin += packet;
  }
  return out;
}

/// The user's speech in a turn, and the agent's reaction.
struct TurnSpeech {
  double onset_s = 0, offset_s = 0;
  double limit_s = 0;  // until when an answer may begin
  const SpeechSegment* response = nullptr;
};

void add_response(const VoicebenchSession& session, const std::vector<double>& packets_s,
                  const TurnSpeech& speech, VoicebenchTurnResult& to) {
  to.responded = speech.response != nullptr;
  if (!to.responded || to.expect == Expect::kIgnore) return;
  const double start_s = speech.response->start_s;
  to.response_latency_ms = rounded_ms(start_s - speech.offset_s);
  to.talk_over = start_s < speech.offset_s;
  if (to.talk_over) return;
  double floor_s = speech.offset_s;  // packets of earlier speech are no answer
  for (const SpeechSegment& segment : session.agent_speech) {
    if (segment.end_s <= start_s + kEpsilon_s) floor_s = std::max(floor_s, segment.end_s);
  }
  for (const double packet_s : packets_s) {
    if (packet_s < floor_s - kEpsilon_s || packet_s > speech.limit_s + kEpsilon_s) continue;
    to.ttfa_ms = rounded_ms(packet_s - speech.offset_s);
    return;
  }
}

void judge(const VoicebenchSession& session, const SpeechSegment* interrupted, double onset_s,
           VoicebenchTurnResult& to) {
  const auto stops_in_time = [&] {
    return (interrupted->end_s - onset_s) * 1000 <= session.max_stop_ms + kEpsilon_s;
  };
  if (to.expect == Expect::kRespond) {
    to.passed = to.responded;
  } else if (to.expect == Expect::kStop) {
    if (interrupted == nullptr) return;
    const bool runs_to_end = interrupted->end_s >= session.user.duration_s() - kEpsilon_s;
    if (!runs_to_end) to.stop_latency_ms = rounded_ms(interrupted->end_s - onset_s);
    to.stopped = !runs_to_end && stops_in_time();
    to.passed = to.stopped;
  } else {
    to.false_barge_in = interrupted != nullptr && stops_in_time();
    to.spurious_response = interrupted == nullptr && to.responded;
    to.passed = !to.false_barge_in && !to.spurious_response;
  }
}

VoicebenchTurnResult turn_result(const VoicebenchSession& session, const VoicebenchTurn& turn,
                                 double next_start_s, const std::vector<double>& packets_s) {
  VoicebenchTurnResult out;
  out.expect = turn.expect;
  const std::vector<SpeechSegment> mine =
      segments_in(session.user_speech, turn.start_s, turn.end_s);
  if (mine.empty()) return out;
  TurnSpeech speech = {mine.front().start_s, mine.back().end_s};
  speech.limit_s = std::min(next_start_s, speech.offset_s + session.response_timeout_ms / 1000);
  for (const SpeechSegment& segment : session.agent_speech) {
    if (segment.start_s <= speech.onset_s + kEpsilon_s) continue;
    if (segment.start_s <= speech.limit_s + kEpsilon_s) speech.response = &segment;
    break;
  }
  add_response(session, packets_s, speech, out);
  judge(session, voicebench_interrupted(session, turn), speech.onset_s, out);
  return out;
}

}  // namespace

double VoicebenchTrack::duration_s() const {
  return static_cast<double>(samples.size()) / static_cast<double>(sample_rate_hz);
}

VoicebenchTrack voicebench_track(const AudioClip& clip, int64_t sample_rate_hz) {
  VoicebenchTrack out;
  out.sample_rate_hz = sample_rate_hz;
  if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) return out;
  const at::Tensor samples_S = clip.samples_S.to(at::kCPU, at::kFloat).contiguous();
  const float* const from = samples_S.const_data_ptr<float>();
  const auto count = static_cast<size_t>(samples_S.numel());
  if (clip.sample_rate_hz == sample_rate_hz) {
    out.samples.assign(from, from + count);
    return out;
  }
  const auto from_hz = static_cast<double>(clip.sample_rate_hz);
  const auto to_hz = static_cast<double>(sample_rate_hz);
  const auto num_samples =
      static_cast<size_t>(std::max(1LL, std::llrint(static_cast<double>(count) / from_hz * to_hz)));
  out.samples.reserve(num_samples);
  size_t left = 0;  // the sample at or before the time
  for (size_t i = 0; i < num_samples; ++i) {
    const double time_s = static_cast<double>(i) / to_hz;
    const auto time_of = [&](size_t k) { return static_cast<double>(k) / from_hz; };
    while (left + 1 < count && time_of(left + 1) <= time_s) ++left;
    const auto before = static_cast<double>(from[left]);
    if (left + 1 == count || time_of(left) == time_s) {
      out.samples.push_back(from[left]);
      continue;
    }
    const double slope =
        (static_cast<double>(from[left + 1]) - before) / (time_of(left + 1) - time_of(left));
    out.samples.push_back(static_cast<float>(slope * (time_s - time_of(left)) + before));
  }
  return out;
}

std::vector<SpeechSegment> voicebench_speech(const VoicebenchTrack& track,
                                             const VoicebenchVadOptions& options) {
  const int64_t frame = std::max<int64_t>(1, samples_in(options.frame_ms, track.sample_rate_hz));
  const double frame_s = static_cast<double>(frame) / static_cast<double>(track.sample_rate_hz);
  std::vector<SpeechSegment> out;
  std::optional<double> candidate_s;  // begin of speech that is not long enough yet
  double candidate_length_s = 0, last_end_s = 0;
  bool is_speaking = false;
  int64_t frames = 0;
  for (const double level_db : levels_db(track, static_cast<size_t>(frame))) {
    const double start_s = static_cast<double>(frames++) * frame_s;
    const double end_s = start_s + frame_s;
    if (is_speaking) {
      if (level_db >= options.threshold_db - options.hysteresis_db) {
        last_end_s = end_s;
      } else if (end_s - last_end_s + kEpsilon_s >= options.min_silence_ms / 1000) {
        is_speaking = false;
        out.back().end_s = last_end_s;
      }
      continue;
    }
    if (level_db < options.threshold_db) {
      candidate_s.reset();
      continue;
    }
    if (!candidate_s) {
      candidate_s = start_s;
      candidate_length_s = 0;
    }
    candidate_length_s += frame_s;
    if (candidate_length_s + kEpsilon_s < options.min_speech_ms / 1000) continue;
    is_speaking = true;
    last_end_s = end_s;
    out.push_back({*candidate_s, end_s});
    candidate_s.reset();
  }
  if (is_speaking) out.back().end_s = last_end_s;
  return out;
}

const SpeechSegment* voicebench_interrupted(const VoicebenchSession& session,
                                            const VoicebenchTurn& turn) {
  const std::vector<SpeechSegment> mine =
      segments_in(session.user_speech, turn.start_s, turn.end_s);
  if (mine.empty()) return nullptr;
  const double onset_s = mine.front().start_s;
  for (const SpeechSegment& segment : session.agent_speech) {
    if (segment.start_s <= onset_s + kEpsilon_s && segment.end_s > onset_s + kEpsilon_s) {
      return &segment;
    }
  }
  return nullptr;
}

VoicebenchResult voicebench_analyze(const VoicebenchSession& session, double packet_ms) {
  const std::vector<double> packets_s = packet_times(session.agent, packet_ms);
  VoicebenchResult out;
  double talk_over_s = 0, overlap_s = 0;
  for (size_t i = 0; i < session.turns.size(); ++i) {
    const VoicebenchTurn& turn = session.turns[i];
    const double next_start_s =
        i + 1 < session.turns.size() ? session.turns[i + 1].start_s : session.user.duration_s();
    out.turns.push_back(turn_result(session, turn, next_start_s, packets_s));
    if (turn.expect != Expect::kRespond) continue;
    for (const SpeechSegment& user : segments_in(session.user_speech, turn.start_s, turn.end_s)) {
      double sum_s = 0;
      for (const SpeechSegment& agent : session.agent_speech) sum_s += seconds_of_both(user, agent);
      talk_over_s += sum_s;
    }
  }
  for (const SpeechSegment& user : session.user_speech) {
    for (const SpeechSegment& agent : session.agent_speech) {
      overlap_s += seconds_of_both(user, agent);
    }
  }
  out.overlap_ms = rounded_ms(overlap_s);
  out.talk_over_ms = rounded_ms(talk_over_s);
  return out;
}

VoicebenchStats voicebench_stats(const std::vector<double>& values) {
  VoicebenchStats out;
  out.count = static_cast<int64_t>(values.size());
  if (values.empty()) return out;
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  out.min = rounded(*least, 1);
  out.max = rounded(*largest, 1);
  out.p50 = rounded(*percentile(values, 50), 1);
  out.p90 = rounded(*percentile(values, 90), 1);
  out.mean =
      rounded(pairwise_sum(values.data(), values.size()) / static_cast<double>(values.size()), 1);
  return out;
}

}  // namespace s2s::turn_taking
