#include "duplex/turn_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace s2s::data {
namespace {

constexpr VoiceActivityOptions kSpeech = {
    .frame_s = kTurnFrame_s, .quietest_speech_db = -75, .range_db = 30, .bridge_s = 0.5};
/// Loudest frame over noise floor; with less, there is only noise.
constexpr double kSmallestRange_db = 12;
constexpr double kFaintNoise_db = -45;  // quieter noise counts as silence
constexpr double kCrosstalk_db = 10;    // crosstalk if the other channel is louder by this
constexpr int64_t kEcho_frames = 2;     // maximum delay of crosstalk

constexpr double kSameLevel_db = 3;   // maximum mean difference of one sound in two channels
constexpr double kSameSpread_db = 2;  // and maximum standard deviation

constexpr double kGoodFit = 0.5;  // minimum correlation
constexpr double kNoFit = 0.2;
constexpr double kBetterFit = 0.05;
constexpr int64_t kNear_frames = 4;  // tolerance of turns
constexpr int64_t kUsualShift_frames = 12;
constexpr int64_t kShifted_frames = 4;  // a smaller shift is not a shift

constexpr int64_t kMargin_frames = 6;    // around turns, for breath and inexact ends
constexpr int64_t kShortest_frames = 7;  // minimum speech without a turn; "mhm" is shorter
constexpr double kLeastUnlabeled_s = 2;
constexpr double kLeastShare = 0.2;
/// Speech that is quieter than turns by this is not the speaker's.
constexpr double kQuieter_db = 10;
constexpr double kLeastTurn_s = 0.4;

struct Channel {
  bool is_clear = false;  // speech differs from the rest
  std::vector<double> levels_db;
  std::vector<SpeechSegment> turns;
  FrameMask turns_T;
  FrameMask all_T;     // frames with sound
  FrameMask speech_T;  // frames with speech, without crosstalk
};

/// Returns the first frame and the frame after the last one, limited to the cut.
std::pair<int64_t, int64_t> frames_of(const SpeechSegment& stretch, size_t num_frames) {
  const auto frame_at = [&](double time_s) {
    const double frame = std::ceil(time_s / kTurnFrame_s - 0.5);
    return static_cast<int64_t>(std::clamp(frame, 0.0, static_cast<double>(num_frames)));
  };
  const int64_t first = frame_at(stretch.start_s);
  return {first, std::max(first, frame_at(stretch.end_s))};
}

double seconds(int64_t frames) { return static_cast<double>(frames) * kTurnFrame_s; }

int64_t count(const FrameMask& mask_T) { return std::count(mask_T.begin(), mask_T.end(), 1); }

Channel open_channel(const ChannelTurns& given, size_t num_frames) {
  Channel channel;
  channel.levels_db = given.levels_db;
  channel.levels_db.resize(num_frames, kDigitalSilenceDb);
  channel.turns = given.turns;
  channel.turns_T = frame_mask(given.turns, num_frames);
  channel.all_T.assign(num_frames, 0);
  const auto& levels_db = channel.levels_db;
  const double loudest_db = *std::max_element(levels_db.begin(), levels_db.end());
  const bool is_flat = loudest_db - noise_floor_db(levels_db) < kSmallestRange_db;
  channel.is_clear = !is_flat || loudest_db < kFaintNoise_db;
  if (!is_flat)
    channel.all_T = frame_mask(find_speech(levels_db, kTurnFrame_s, kSpeech), num_frames);
  return channel;
}

void remove_crosstalk(Channel& channel, const Channel& other) {
  channel.speech_T = channel.all_T;
  const auto num_frames = std::ssize(channel.all_T);
  for (int64_t t = 0; t < num_frames; ++t) {
    const auto first = other.levels_db.begin() + std::max<int64_t>(0, t - kEcho_frames);
    const double other_db = *std::max_element(first, other.levels_db.begin() + t + 1);
    const auto at = static_cast<size_t>(t);
    if (other_db > channel.levels_db[at] + kCrosstalk_db) channel.speech_T[at] = 0;
  }
}

/// Level differences of the same sound are constant and small.
bool have_same_sound(const Channel& user, const Channel& agent) {
  double sum = 0, squares = 0, num = 0;
  for (size_t t = 0; t < user.all_T.size(); ++t) {
    if (user.all_T[t] == 0 && agent.all_T[t] == 0) continue;
    const double difference = user.levels_db[t] - agent.levels_db[t];
    sum += difference;
    squares += difference * difference;
    ++num;
  }
  if (num * kTurnFrame_s < 1) return false;
  const double mean = sum / num;
  return std::fabs(mean) < kSameLevel_db &&
         squares / num - mean * mean < kSameSpread_db * kSameSpread_db;
}

/// Correlations of turns and speech for all shifts.
class LagScores {
 public:
  LagScores(const FrameMask& turns_T, const FrameMask& sounds_T)
      : longest_(std::min(static_cast<int64_t>(kLongestShift_s / kTurnFrame_s),
                          std::ssize(turns_T) / 2)) {
    for (int64_t lag = -longest_; lag <= longest_; ++lag) {
      scores_.push_back(mask_correlation(turns_T, sounds_T, lag));
    }
  }
  int64_t longest() const { return longest_; }
  double at(int64_t lag) const { return scores_[static_cast<size_t>(lag + longest_)]; }
  /// Returns the best shift; of equal ones, the smallest.
  int64_t best() const {
    int64_t best = 0;
    for (int64_t lag = 1; lag <= longest_; ++lag) {
      for (const int64_t side : {lag, -lag}) {
        if (at(side) > at(best) + 1e-9) best = side;
      }
    }
    return best;
  }

 private:
  int64_t longest_;
  std::vector<double> scores_;
};

/// Mean over the speakers that have turns, at the best common shift of at most `most` frames.
double common_score(const std::vector<LagScores>& scores, int64_t most) {
  double best = 0;
  for (int64_t lag = -most; lag <= most; ++lag) {
    double sum = 0;
    for (const LagScores& score : scores)
      sum += std::abs(lag) <= score.longest() ? score.at(lag) : 0;
    best = std::max(best, sum / static_cast<double>(scores.size()));
  }
  return best;
}

bool are_swapped(const Channel& user, const Channel& agent) {
  std::vector<LagScores> own, crossed;
  for (const auto& [speaker, other] : {std::pair(&user, &agent), std::pair(&agent, &user)}) {
    if (count(speaker->turns_T) == 0) continue;
    own.emplace_back(speaker->turns_T, speaker->speech_T);
    crossed.emplace_back(speaker->turns_T, other->speech_T);
  }
  if (own.empty()) return false;
  const int64_t most = own.front().longest();
  const int64_t near = std::min(most, kNear_frames);
  const double score = common_score(crossed, near);
  return score >= kGoodFit && common_score(own, near) <= kNoFit && score >= common_score(own, most);
}

double median_level_db(const Channel& channel, const FrameMask& of_T) {
  std::vector<double> levels_db;
  for (size_t t = 0; t < of_T.size(); ++t) {
    if (of_T[t] != 0) levels_db.push_back(channel.levels_db[t]);
  }
  if (levels_db.empty()) return kDigitalSilenceDb;
  const auto middle = levels_db.begin() + std::ssize(levels_db) / 2;
  std::nth_element(levels_db.begin(), middle, levels_db.end());
  return *middle;
}

FrameMask widened(const FrameMask& mask_T, int64_t by) {
  FrameMask out_T(mask_T.size(), 0);
  const auto num_frames = std::ssize(mask_T);
  for (int64_t t = 0; t < num_frames; ++t) {
    if (mask_T[static_cast<size_t>(t)] == 0) continue;
    std::fill(out_T.begin() + std::max<int64_t>(0, t - by),
              out_T.begin() + std::min(num_frames, t + by + 1), 1);
  }
  return out_T;
}

/// Removes runs of fewer than `shortest` frames.
FrameMask without_short(FrameMask mask_T, int64_t shortest) {
  for (auto first = mask_T.begin(); first != mask_T.end();) {
    first = std::find(first, mask_T.end(), 1);
    const auto end = std::find(first, mask_T.end(), 0);
    if (end - first < shortest) std::fill(first, end, 0);
    first = end;
  }
  return mask_T;
}

/// Returns speech of this speaker alone that is not near a turn.
FrameMask unlabeled_speech(const Channel& channel, const Channel& other) {
  FrameMask unlabeled_T = channel.speech_T;
  const FrameMask labeled_T = widened(channel.turns_T, kMargin_frames);
  FrameMask others_T = other.all_T;
  for (size_t t = 0; t < others_T.size(); ++t) {
    if (other.levels_db[t] < channel.levels_db[t] - kCrosstalk_db) others_T[t] = 0;
  }
  others_T = widened(others_T, kEcho_frames);
  for (size_t t = 0; t < unlabeled_T.size(); ++t) {
    if (labeled_T[t] != 0 || others_T[t] != 0) unlabeled_T[t] = 0;
  }
  return without_short(std::move(unlabeled_T), kShortest_frames);
}

void measure_unlabeled(const Channel& channel, const FrameMask& unlabeled_T, SpeakerFit& fit) {
  const auto first_turn = std::find(channel.turns_T.begin(), channel.turns_T.end(), 1);
  const auto last_turn = std::find(channel.turns_T.rbegin(), channel.turns_T.rend(), 1);
  const auto before = first_turn - channel.turns_T.begin();
  const auto after = channel.turns_T.rend() - last_turn;
  const auto counted = [&](int64_t first, int64_t end) {
    return seconds(std::count(unlabeled_T.begin() + first, unlabeled_T.begin() + end, 1));
  };
  fit.unlabeled_s = seconds(count(unlabeled_T));
  if (first_turn != channel.turns_T.end()) {
    fit.unlabeled_before_s = counted(0, before);
    fit.unlabeled_after_s = counted(after, std::ssize(unlabeled_T));
  }
  fit.is_unlabeled =
      fit.unlabeled_s >= kLeastUnlabeled_s && fit.unlabeled_s >= kLeastShare * fit.speech_s;
}

void judge_empty_turns(const Channel& channel, SpeakerFit& fit) {
  double turns_s = 0;
  for (const SpeechSegment& turn : channel.turns) {
    const auto [first, end] = frames_of(turn, channel.all_T.size());
    const int64_t frames = end - first;
    if (seconds(frames) < kLeastTurn_s) continue;
    turns_s += seconds(frames);
    const auto all = channel.all_T.begin();
    const int64_t sounding = std::count(all + first, all + end, 1);
    if (sounding > 2 || 10 * sounding > frames) continue;
    ++fit.num_empty_turns;
    fit.empty_s += seconds(frames);
  }
  fit.is_empty_judged = turns_s > 0;
  fit.is_empty = fit.num_empty_turns > 0 && fit.empty_s >= kLeastShare * turns_s;
}

double mean_turn_frames(const Channel& channel) {
  int64_t num_runs = 0;
  for (size_t t = 0; t < channel.turns_T.size(); ++t) {
    num_runs += channel.turns_T[t] != 0 && (t == 0 || channel.turns_T[t - 1] == 0) ? 1 : 0;
  }
  return static_cast<double>(count(channel.turns_T)) / static_cast<double>(num_runs);
}

/// A shift must improve the correlation by more if it moves the turns by a larger share. Turns that
/// cover a part of the speech would also match another part, and that is not a shift.
bool is_shift(const LagScores& scores, int64_t lag, const Channel& channel) {
  if (std::abs(lag) < kShifted_frames) return false;
  const double moved_share =
      std::min(1.0, static_cast<double>(std::abs(lag)) / mean_turn_frames(channel));
  const double better_by = scores.at(lag) - scores.at(0);
  return better_by >= std::max(kBetterFit, scores.at(lag) * moved_share / 2);
}

/// `fit` already has its numbers of turns and seconds.
void judge(const Channel& channel, const Channel& other, SpeakerFit& fit) {
  if (!channel.is_clear || count(channel.turns_T) == 0) return;
  const LagScores scores(channel.turns_T, channel.speech_T);
  const int64_t best = scores.best();
  fit.fits = scores.at(best) >= kGoodFit;
  if (fit.fits && is_shift(scores, best, channel)) {
    // Turns that match the other channel without a shift may be swapped and not shifted. If the
    // other channel is noise, nobody can know.
    const LagScores crossed(channel.turns_T, other.all_T);
    const double other_score = common_score({crossed}, std::min(kNear_frames, crossed.longest()));
    fit.fits = other_score < scores.at(best) - kBetterFit &&
               (other.is_clear || std::abs(best) <= kUsualShift_frames);
    if (fit.fits) fit.shift_s = seconds(best);
    return;
  }
  judge_empty_turns(channel, fit);
  if (!other.is_clear || scores.at(0) < kNoFit) return;
  fit.is_unlabeled_judged = true;
  const FrameMask unlabeled_T = unlabeled_speech(channel, other);
  FrameMask labeled_T = channel.speech_T;
  for (size_t t = 0; t < labeled_T.size(); ++t) labeled_T[t] &= channel.turns_T[t];
  const double labeled_db = median_level_db(channel, labeled_T);
  if (median_level_db(channel, unlabeled_T) < labeled_db - kQuieter_db) return;
  measure_unlabeled(channel, unlabeled_T, fit);
}

/// Finds an agent that speaks without turns while the user's turns match. The reverse is common:
/// transcripts of the agent alone.
void judge_unlabeled_agent(const Channel& user, const Channel& agent, TurnFit& fit) {
  const bool is_judged = fit.agent.num_turns == 0 && fit.user.fits && fit.user.shift_s == 0 &&
                         agent.is_clear && fit.agent.speech_s > 0;
  if (!is_judged) return;
  fit.agent.is_unlabeled_judged = true;
  const FrameMask unlabeled_T = unlabeled_speech(agent, user);
  const double user_db = median_level_db(user, user.speech_T);
  if (median_level_db(agent, unlabeled_T) < user_db - kQuieter_db) return;
  measure_unlabeled(agent, unlabeled_T, fit.agent);
}

}  // namespace

double mask_correlation(std::span<const uint8_t> turns_T, std::span<const uint8_t> sounds_T,
                        int64_t lag) {
  const auto num_frames = std::min(std::ssize(turns_T), std::ssize(sounds_T));
  int64_t both = 0, turns = 0, sounds = 0;
  for (int64_t t = 0; t < num_frames; ++t) {
    turns += turns_T[static_cast<size_t>(t)];
    sounds += sounds_T[static_cast<size_t>(t)];
  }
  for (int64_t t = std::max<int64_t>(0, -lag); t < std::min(num_frames, num_frames - lag); ++t) {
    both += turns_T[static_cast<size_t>(t)] & sounds_T[static_cast<size_t>(t + lag)];
  }
  const auto n = static_cast<double>(num_frames);
  const auto a = static_cast<double>(turns), b = static_cast<double>(sounds);
  const double spread = a * (n - a) * b * (n - b);
  return spread > 0 ? (n * static_cast<double>(both) - a * b) / std::sqrt(spread) : 0;
}

FrameMask frame_mask(const std::vector<SpeechSegment>& stretches, size_t num_frames) {
  FrameMask mask_T(num_frames, 0);
  for (const SpeechSegment& stretch : stretches) {
    const auto [first, end] = frames_of(stretch, num_frames);
    std::fill(mask_T.begin() + first, mask_T.begin() + end, 1);
  }
  return mask_T;
}

TurnFit fit_turns(const ChannelTurns& user, const ChannelTurns& agent) {
  TurnFit fit;
  fit.user.num_turns = std::ssize(user.turns);
  fit.agent.num_turns = std::ssize(agent.turns);
  const size_t num_frames = std::max(user.levels_db.size(), agent.levels_db.size());
  if (user.levels_db.empty() || agent.levels_db.empty()) return fit;
  Channel users = open_channel(user, num_frames);
  Channel agents = open_channel(agent, num_frames);
  remove_crosstalk(users, agents);
  remove_crosstalk(agents, users);
  fit.user.speech_s = seconds(count(users.speech_T));
  fit.agent.speech_s = seconds(count(agents.speech_T));
  if (have_same_sound(users, agents)) {
    fit.order = ChannelOrder::kSame;
    return fit;
  }
  if (users.is_clear && agents.is_clear && are_swapped(users, agents)) {
    fit.order = ChannelOrder::kSwapped;
    return fit;
  }
  judge(users, agents, fit.user);
  judge(agents, users, fit.agent);
  judge_unlabeled_agent(users, agents, fit);
  if (fit.user.fits || fit.agent.fits) fit.order = ChannelOrder::kOwn;
  return fit;
}

}  // namespace s2s::data
