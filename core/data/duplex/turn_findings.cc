#include "duplex/turn_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace s2s::data {
namespace {

constexpr size_t kMaxExamples = 5;
// Minimum number of turns or cuts of a finding.
constexpr int64_t kLeastTurns = 4;
constexpr int64_t kLeastCuts = 3;
constexpr int64_t kSpread_lags = 5;  // shifts count as equal if they differ by at most this

bool is_most(int64_t cuts, int64_t turns, int64_t judged) {
  return (turns >= kLeastTurns || cuts >= kLeastCuts) && 2 * cuts >= judged;
}

bool is_some(int64_t cuts, int64_t judged) { return cuts >= kLeastCuts && 10 * cuts >= judged; }

std::string of_cuts(int64_t cuts, int64_t judged) {
  return fmt::format("in {} of {}", cuts, counted(judged, "cut"));
}

/// Returns the channel of `target_audio`, or 0 if all of its channels are used.
int64_t agent_channel(const Cut& cut) {
  const std::vector<int64_t> channels = cut.custom_integers("target_audio_channel_selector");
  return channels.empty() ? 0 : channels.front();
}

}  // namespace

std::string sentence(const TurnFinding& finding) {
  const std::string example =
      finding.examples.empty() ? "" : fmt::format(" (the first: {})", finding.examples.front());
  return finding.text + example + "; " + finding.advice;
}

std::vector<SpeechSegment> turns_of(const Cut& cut, const std::vector<std::string>& roles) {
  std::vector<SpeechSegment> turns;
  for (const Supervision& turn : cut.supervisions) {
    if (std::find(roles.begin(), roles.end(), turn.speaker) == roles.end()) continue;
    turns.push_back({turn.start_s, turn.end_s()});
  }
  return turns;
}

void TurnFindings::Tally::add(const Cut& cut, int64_t num_turns, double some_s) {
  ++cuts;
  turns += num_turns;
  seconds += some_s;
  if (examples.size() < kMaxExamples) examples.push_back(cut.place());
}

void TurnFindings::add(const Cut& cut, const TurnFit& fit) {
  const int64_t turns = fit.user.num_turns + fit.agent.num_turns;
  if (fit.order == ChannelOrder::kSame) {
    ++judged_;
    return same_.add(cut, turns);
  }
  if (fit.order == ChannelOrder::kSwapped) {
    ++judged_;
    if (swapped_.cuts == 0) remember_channels(cut);
    user_is_swapped_ = user_is_swapped_ || fit.user.num_turns > 0;
    agent_is_swapped_ = agent_is_swapped_ || fit.agent.num_turns > 0;
    return swapped_.add(cut, turns);
  }
  add_speaker(cut, fit.user, user_);
  add_speaker(cut, fit.agent, agent_);
  if (fit.order != ChannelOrder::kOwn) return;
  ++judged_;
  const auto is_fine = [](const SpeakerFit& speaker) {
    return speaker.shift_s == 0 && !speaker.is_unlabeled && !speaker.is_empty;
  };
  fitting_ += is_fine(fit.user) && is_fine(fit.agent) ? 1 : 0;
}

void TurnFindings::add_speaker(const Cut& cut, const SpeakerFit& fit, Speaker& speaker) {
  speaker.with_turns += fit.num_turns > 0 ? 1 : 0;
  speaker.fitting += fit.fits ? 1 : 0;
  if (fit.fits) {
    const int64_t lag = std::llround(fit.shift_s / kTurnFrame_s);
    speaker.by_lag[static_cast<size_t>(std::clamp(lag, -kMostLag, kMostLag) + kMostLag)].add(
        cut, fit.num_turns);
  }
  speaker.unlabeled_judged += fit.is_unlabeled_judged ? 1 : 0;
  if (fit.is_unlabeled) {
    speaker.unlabeled.add(cut, fit.num_turns, fit.unlabeled_s);
    speaker.speech_s += fit.speech_s;
    speaker.before_s += fit.unlabeled_before_s;
    speaker.after_s += fit.unlabeled_after_s;
  }
  speaker.empty_judged += fit.is_empty_judged ? 1 : 0;
  if (fit.is_empty) {
    speaker.empty.add(cut, fit.num_turns, fit.empty_s);
    speaker.empty_turns += fit.num_empty_turns;
  }
}

void TurnFindings::remember_channels(const Cut& cut) {
  const Recording* const target = cut.find_recording("target_audio");
  if (!cut.recording || target == nullptr) return;
  if (cut.recording->sources.empty() || target->sources.empty() || cut.channels.empty()) return;
  const AudioSource& user = cut.recording->sources.front();
  const AudioSource& agent = target->sources.front();
  channels_.user = cut.channels.front();
  channels_.agent = agent_channel(cut);
  channels_.is_one_file =
      user.type == agent.type && user.source == agent.source && channels_.user != channels_.agent;
}

void TurnFindings::find_channels(TurnReport& report) const {
  const auto is_found = [&](const Tally& tally) {
    return is_most(tally.cuts, tally.turns, judged_) || is_some(tally.cuts, judged_);
  };
  if (is_found(swapped_)) {
    const bool agent_only = !user_is_swapped_;
    const char* const one = agent_only ? "agent" : "user";
    const char* const other = agent_only ? "user" : "agent";
    const std::string how =
        channels_.is_one_file
            ? fmt::format(
                  "convert again with --agent-channel {} --user-channel {}, or swap "
                  "'channel' and 'target_audio_channel_selector' in these cuts",
                  channels_.user, channels_.agent)
            : "swap 'recording' and 'target_audio' in these cuts, or the speakers of their turns";
    report.findings.push_back(
        {"swapped-channels", user_is_swapped_ && agent_is_swapped_ ? "both" : one, swapped_.cuts,
         judged_, 0, swapped_.examples,
         fmt::format("{} the {}'s channel is silent during the {}'s turns and the {}'s is not; "
                     "the channels are swapped",
                     of_cuts(swapped_.cuts, judged_), one, one, other),
         how + "; listen to one cut first"});
  }
  if (is_found(same_)) {
    report.findings.push_back(
        {"same-audio", "both", same_.cuts, judged_, 0, same_.examples,
         fmt::format("{} the user's and the agent's channel have the same audio",
                     of_cuts(same_.cuts, judged_)),
         "a duplex model needs a channel for each speaker: name the right files or channels, or "
         "separate the speakers"});
  }
}

/// Returns the median shift if most cuts have about the same shift.
std::optional<TurnFinding> TurnFindings::shift_of(const char* role, const Speaker& speaker) const {
  int64_t shifted = 0;
  for (size_t i = 0; i < speaker.by_lag.size(); ++i) {
    if (static_cast<int64_t>(i) != kMostLag) shifted += speaker.by_lag[i].cuts;
  }
  int64_t below = 0, median = 0;
  for (size_t i = 0; i < speaker.by_lag.size() && 2 * below < shifted; ++i) {
    if (static_cast<int64_t>(i) == kMostLag) continue;
    below += speaker.by_lag[i].cuts;
    median = static_cast<int64_t>(i) - kMostLag;
  }
  Tally found;
  for (int64_t lag = median - kSpread_lags; lag <= median + kSpread_lags; ++lag) {
    if (lag == 0 || std::abs(lag) > kMostLag) continue;
    const Tally& tally = speaker.by_lag[static_cast<size_t>(lag + kMostLag)];
    found.cuts += tally.cuts;
    found.turns += tally.turns;
    for (const std::string& place : tally.examples) {
      if (found.examples.size() < kMaxExamples) found.examples.push_back(place);
    }
  }
  const int64_t judged = speaker.fitting + swapped_.cuts;
  const bool are_few = 2 * judged <= speaker.with_turns;  // too few cuts for a conclusion
  if (found.cuts == 0 || are_few || !is_most(found.cuts, found.turns, judged)) return std::nullopt;
  const double shift_s = static_cast<double>(median) * kTurnFrame_s;
  return TurnFinding{"shifted-turns", role, found.cuts, judged, shift_s, found.examples, "", ""};
}

void TurnFindings::find_shifts(TurnReport& report) const {
  std::vector<TurnFinding> shifts;
  for (const auto& [role, speaker] : {std::pair("user", &user_), std::pair("agent", &agent_)}) {
    if (auto shift = shift_of(role, *speaker)) shifts.push_back(std::move(*shift));
  }
  // A constant offset cannot move one speaker forward and the other backward.
  if (shifts.size() == 2 && shifts[0].seconds * shifts[1].seconds < 0) return;
  const bool is_common = shifts.size() == 2 && std::fabs(shifts[0].seconds - shifts[1].seconds) <=
                                                   kSpread_lags * kTurnFrame_s;
  if (is_common) {
    shifts.front().which = "both";
    shifts.front().cuts = std::min(shifts[0].cuts, shifts[1].cuts);
    shifts.pop_back();
  }
  for (TurnFinding& shift : shifts) {
    const bool is_early = shift.seconds > 0;
    const std::string whose = is_common ? "both speakers'" : "the " + shift.which + "'s";
    shift.text = fmt::format(
        "{} {} turns begin about {:.1f} s {} the speech in {}; the transcripts are "
        "shifted",
        of_cuts(shift.cuts, shift.cuts_judged), whose, std::fabs(shift.seconds),
        is_early ? "before" : "after",
        is_common ? "their channels" : fmt::format("{} channel", whose));
    shift.advice =
        fmt::format("{} {:.1f} s {} the times of {} turns and words", is_early ? "add" : "subtract",
                    std::fabs(shift.seconds), is_early ? "to" : "from", whose);
    report.findings.push_back(std::move(shift));
  }
}

void TurnFindings::find_unlabeled(const char* role, const Speaker& speaker,
                                  TurnReport& report) const {
  const Tally& tally = speaker.unlabeled;
  if (tally.cuts == 0 || !is_most(tally.cuts, tally.turns, speaker.unlabeled_judged)) return;
  report.findings.push_back(
      {"speech-without-turns", role, tally.cuts, speaker.unlabeled_judged, tally.seconds,
       tally.examples,
       fmt::format("{} much of the speech in the {}'s channel has no turn: {:.1f} of {:.1f} s, of "
                   "these {:.1f} s before the first turn and {:.1f} s after the last; transcripts "
                   "are cut off or incomplete",
                   of_cuts(tally.cuts, speaker.unlabeled_judged), role, tally.seconds,
                   speaker.speech_s, speaker.before_s, speaker.after_s),
       "transcribe these recordings completely, or leave them out; music and noise in the channel "
       "also count as speech"});
}

void TurnFindings::find_empty(const char* role, const Speaker& speaker, TurnReport& report) const {
  const Tally& tally = speaker.empty;
  if (tally.cuts == 0 || !is_most(tally.cuts, tally.turns, speaker.empty_judged)) return;
  report.findings.push_back(
      {"turns-without-speech", role, tally.cuts, speaker.empty_judged, tally.seconds,
       tally.examples,
       fmt::format("{} the {}'s channel is silent during turns of the {}: {} turns, {:.1f} s",
                   of_cuts(tally.cuts, speaker.empty_judged), role, role, speaker.empty_turns,
                   tally.seconds),
       "check that the transcripts belong to the audio, and that the channel contains this "
       "speaker"});
}

TurnReport TurnFindings::report() const {
  TurnReport report{judged_, fitting_, {}};
  find_channels(report);
  find_shifts(report);
  for (const auto& [role, speaker] : {std::pair("user", &user_), std::pair("agent", &agent_)}) {
    find_unlabeled(role, *speaker, report);
    find_empty(role, *speaker, report);
  }
  return report;
}

}  // namespace s2s::data
