#pragma once
// Reports mismatches between turns and audio that many cuts of a set share, as sentences with a
// next step.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "duplex/turn_fit.h"
#include "s2s/data/cuts.h"
#include "s2s/data/duplex_data.h"

namespace s2s::data {

/// A mismatch that most of the comparable cuts have.
struct TurnFinding {
  /// "swapped-channels", "same-audio", "shifted-turns", "speech-without-turns",
  /// "turns-without-speech"
  std::string kind;
  std::string which;  // "user", "agent" or "both"
  int64_t cuts = 0;   // cuts with this mismatch
  int64_t cuts_judged = 0;
  /// shifted-turns: the median shift of these cuts, positive if speech comes after the turns.
  /// speech-without-turns and turns-without-speech: seconds, summed over these cuts. Else 0.
  double seconds = 0;
  std::vector<std::string> examples;  // places of the first cuts
  std::string text;                   // what was found
  std::string advice;                 // what to do
};

struct TurnReport {
  int64_t cuts_judged = 0;    // whose turns and speech could be compared
  int64_t cuts_that_fit = 0;  // of these, without any mismatch
  std::vector<TurnFinding> findings;
};

/// Returns "TEXT; ADVICE" with an example.
std::string sentence(const TurnFinding& finding);

/// Returns the turns of the speakers in `roles`, relative to the begin of the cut.
std::vector<SpeechSegment> turns_of(const Cut& cut, const std::vector<std::string>& roles);

/// Accumulates the cuts of a set. Memory use does not grow with their number.
class TurnFindings {
 public:
  void add(const Cut& cut, const TurnFit& fit);
  /// A finding needs half of the comparable cuts, and three cuts or four turns. Swapped channels,
  /// and channels with equal audio, are also reported if three cuts and a tenth of all have them.
  TurnReport report() const;

 private:
  /// The cuts with one finding.
  struct Tally {
    int64_t cuts = 0;
    int64_t turns = 0;
    double seconds = 0;
    std::vector<std::string> examples;
    void add(const Cut& cut, int64_t num_turns, double some_s = 0);
  };
  static constexpr int64_t kMostLag = static_cast<int64_t>(kLongestShift_s / kTurnFrame_s);
  struct Speaker {
    int64_t with_turns = 0, fitting = 0;  // of cuts that are not swapped
    std::array<Tally, 2 * kMostLag + 1> by_lag;
    int64_t unlabeled_judged = 0, empty_judged = 0;
    Tally unlabeled, empty;
    double speech_s = 0, before_s = 0, after_s = 0;  // of cuts with speech that has no turns
    int64_t empty_turns = 0;
  };
  /// The channels of the first swapped cut.
  struct Channels {
    bool is_one_file = false;
    int64_t user = 0, agent = 0;
  };

  void add_speaker(const Cut& cut, const SpeakerFit& fit, Speaker& speaker);
  void remember_channels(const Cut& cut);
  void find_channels(TurnReport& report) const;
  void find_shifts(TurnReport& report) const;
  void find_unlabeled(const char* role, const Speaker& speaker, TurnReport& report) const;
  void find_empty(const char* role, const Speaker& speaker, TurnReport& report) const;
  std::optional<TurnFinding> shift_of(const char* role, const Speaker& speaker) const;

  int64_t judged_ = 0, fitting_ = 0;
  Tally swapped_, same_;
  bool user_is_swapped_ = false, agent_is_swapped_ = false;  // whose turns are swapped
  Channels channels_;
  Speaker user_, agent_;
};

}  // namespace s2s::data
