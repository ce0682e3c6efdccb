#include "s2s/scores/turn_taking.h"

namespace s2s {

namespace {

using Segments = std::vector<SpeechSegment>;

// All constants are in seconds.
// An answer within this time after the user's end takes the turn.
constexpr double kTolerance = 1.04;
// A silence inside a user's turn of at least this length is a pause.
constexpr double kShortestPause = 0.4;
constexpr double kStopWithin = 1.0;  // an interrupted agent should be silent after this time
// The agent must have spoken this long before it counts as interrupted.
constexpr double kInterruptedAfter = 0.16;
constexpr double kContinuesWithin =
    1.0;  // a new start this soon after a stop is the same utterance
// Minimum length of a stretch without turns to look for false starts.
constexpr double kShortestQuiet = 2.0;

Segments turns_of(const std::vector<Turn>& turns, bool agent) {
  Segments out;
  for (const Turn& turn : turns) {
    if (turn.is_agent == agent) out.push_back({turn.start_s, turn.end_s});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  return out;
}

bool holds(const SpeechSegment& segment, double time_s) {
  return segment.start_s <= time_s && time_s < segment.end_s;
}

/// Counts one dialogue. Each member function computes its own part of the counts.
class TurnTaking {
 public:
  explicit TurnTaking(const DialogueTimes& times)
      : times_(times),
        users_(turns_of(times.turns, false)),
        agents_(turns_of(times.turns, true)),
        explained_(times.agent.size(), false) {
    if (users_.empty()) users_ = times.user;
  }

  DuplexCounts count() {
    for (size_t i = 0; i < users_.size(); ++i) {
      count_interruption(i);
      if (wants_answer(i)) {
        count_answer(i);
      } else if (i + 1 < users_.size()) {
        count_pause({users_[i].end_s, users_[i + 1].start_s});
      }
      count_pauses_inside(users_[i]);
    }
    count_false_starts();
    counts_.agent_speech_s = speech_seconds(times_.agent);
    counts_.overlap_s = overlap_seconds(times_.user, times_.agent);
    counts_.duration_s = times_.duration_s;
    return counts_;
  }

 private:
  double next_user_start(size_t i) const {
    return i + 1 < users_.size() ? users_[i + 1].start_s : times_.duration_s;
  }

  /// Returns true when a planned agent turn follows before the user's next turn. Without a plan,
  /// every user turn wants an answer.
  bool wants_answer(size_t i) const {
    if (agents_.empty()) return true;
    return std::any_of(agents_.begin(), agents_.end(), [&](const SpeechSegment& agent) {
      return agent.start_s >= users_[i].start_s && agent.start_s < next_user_start(i);
    });
  }

  /// The answer is the first agent speech that began after the user did and outlasts the user.
  void count_answer(size_t i) {
    ++counts_.turn_ends;
    for (size_t k = 0; k < times_.agent.size(); ++k) {
      const SpeechSegment& speech = times_.agent[k];
      const bool in_time = speech.start_s > users_[i].start_s && speech.end_s > users_[i].end_s &&
                           speech.start_s < next_user_start(i);
      if (!in_time) continue;
      const double latency_s = speech.start_s - users_[i].end_s;
      counts_.latencies_s.push_back(latency_s);
      counts_.onsets_s.push_back(speech.start_s);
      counts_.takeovers += std::abs(latency_s) <= kTolerance ? 1 : 0;
      explained_[k] = true;
      return;
    }
  }

  void count_interruption(size_t i) {
    const double start_s = users_[i].start_s;
    for (size_t k = 0; k < times_.agent.size(); ++k) {
      const SpeechSegment& speech = times_.agent[k];
      if (!holds(speech, start_s)) continue;
      explained_[k] = explained_[k] || speech.start_s < start_s;
      if (start_s - speech.start_s < kInterruptedAfter) continue;
      const double stop_latency_s = speech.end_s - start_s;
      ++counts_.interruptions;
      counts_.stop_latencies_s.push_back(stop_latency_s);
      counts_.interrupted_at_s.push_back(start_s);
      counts_.interruptions_stopped += stop_latency_s <= kStopWithin ? 1 : 0;
    }
  }

  void count_pause(const SpeechSegment& pause) {
    if (pause.end_s - pause.start_s < kShortestPause) return;
    ++counts_.pauses;
    bool spoken = false;
    for (size_t k = 0; k < times_.agent.size(); ++k) {
      if (!holds(pause, times_.agent[k].start_s)) continue;
      spoken = true;
      explained_[k] = true;
    }
    counts_.pauses_spoken += spoken ? 1 : 0;
  }

  void count_pauses_inside(const SpeechSegment& turn) {
    const SpeechSegment* before = nullptr;
    for (const SpeechSegment& speech : times_.user) {
      if (speech.end_s <= turn.start_s || speech.start_s >= turn.end_s) continue;
      if (before != nullptr) count_pause({before->end_s, speech.start_s});
      before = &speech;
    }
  }

  /// Returns true when the speech resumes after a short stop and no user turn began in between.
  bool continues(size_t k) const {
    if (k == 0) return false;
    const double stop_s = times_.agent[k - 1].end_s;
    const double start_s = times_.agent[k].start_s;
    const bool user_began = std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
      return user.start_s > stop_s && user.start_s <= start_s;
    });
    return start_s - stop_s <= kContinuesWithin && !user_began;
  }

  bool is_planned(double start_s) const {
    return std::any_of(agents_.begin(), agents_.end(), [&](const SpeechSegment& agent) {
      return std::abs(agent.start_s - start_s) <= kTolerance;
    });
  }

  void count_false_starts() {
    std::vector<double> starts_s;
    for (size_t k = 0; k < times_.agent.size(); ++k) {
      const double start_s = times_.agent[k].start_s;
      const bool over_user = std::any_of(users_.begin(), users_.end(),
                                         [&](const auto& user) { return holds(user, start_s); });
      if (explained_[k] || over_user || continues(k) || is_planned(start_s)) continue;
      starts_s.push_back(start_s);
    }
    counts_.false_starts = static_cast<int64_t>(starts_s.size());
    for (const SpeechSegment& stretch : quiet_stretches()) {
      ++counts_.quiet_stretches;
      const bool spoken = std::any_of(starts_s.begin(), starts_s.end(),
                                      [&](double s) { return holds(stretch, s); });
      counts_.quiet_stretches_spoken += spoken ? 1 : 0;
    }
  }

  /// Stretches from the start, or from an agent's planned end, to the next planned turn or the end.
  Segments quiet_stretches() const {
    Segments turns = turns_of(times_.turns, false);
    turns.insert(turns.end(), agents_.begin(), agents_.end());
    std::sort(turns.begin(), turns.end(),
              [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    turns.push_back({times_.duration_s, times_.duration_s});
    Segments out;
    double free_since_s = 0;
    bool answer_is_due = false;
    for (const SpeechSegment& turn : turns) {
      const bool long_enough = turn.start_s - free_since_s >= kShortestQuiet;
      if (long_enough && !answer_is_due) out.push_back({free_since_s, turn.start_s});
      if (turn.end_s < free_since_s) continue;
      free_since_s = turn.end_s;
      answer_is_due = is_user_end(turn);
    }
    return out;
  }

  bool is_user_end(const SpeechSegment& turn) const {
    for (size_t i = 0; i < users_.size(); ++i) {
      const bool same = users_[i].start_s == turn.start_s && users_[i].end_s == turn.end_s;
      if (same && wants_answer(i)) return true;
    }
    return false;
  }

  const DialogueTimes& times_;
  Segments users_, agents_;
  std::vector<bool> explained_;  // one flag per stretch of agent speech
  DuplexCounts counts_;
};

}  // namespace

DuplexCounts& DuplexCounts::operator+=(const DuplexCounts& other) {
  turn_ends += other.turn_ends;
  takeovers += other.takeovers;
  latencies_s.insert(latencies_s.end(), other.latencies_s.begin(), other.latencies_s.end());
  pauses += other.pauses;
  pauses_spoken += other.pauses_spoken;
  interruptions += other.interruptions;
  interruptions_stopped += other.interruptions_stopped;
  stop_latencies_s.insert(stop_latencies_s.end(), other.stop_latencies_s.begin(),
                          other.stop_latencies_s.end());
  false_starts += other.false_starts;
  quiet_stretches += other.quiet_stretches;
  quiet_stretches_spoken += other.quiet_stretches_spoken;
  agent_speech_s += other.agent_speech_s;
  overlap_s += other.overlap_s;
  duration_s += other.duration_s;
  return *this;
}

DuplexCounts count_turn_taking(const DialogueTimes& times) { return TurnTaking(times).count(); }

std::optional<double> percentile(std::vector<double> values, double percent) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double rank = percent / 100 * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, values.size() - 1);
  const double share = rank - static_cast<double>(low);
  const double difference = values[high] - values[low];
  // In numpy's order, so that halves are rounded alike.
  return share < 0.5 ? values[low] + difference * share : values[high] - difference * (1 - share);
}

}  // namespace s2s
