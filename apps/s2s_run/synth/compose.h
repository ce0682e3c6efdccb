#pragma once
// Puts a planned cut on the clock: two audio channels and the turns with their word times.

#include <map>
#include <string>
#include <vector>

#include "s2s_run/synth/plan.h"
#include "s2s_run/synth/speaker.h"

namespace s2s::synth {

constexpr int64_t kFrameMs = 80;
/// The agent answers this many frames after the user's end, and stops as many after a new turn.
constexpr int64_t kReactionFrames = 3;

struct SpokenTurn {
  bool is_agent = false;
  bool interrupted = false;  // the agent stopped early; `text` is still the whole answer
  double start_s = 0;
  double end_s = 0;
  std::string text;
  std::vector<SpokenWord> words;  // times on the cut's clock; only words that were begun
};

/// Both channels last `frames` whole frames.
struct Dialogue {
  int64_t frames = 0;
  std::vector<float> user;   // 16 kHz
  std::vector<float> agent;  // 16 kHz
  std::vector<SpokenTurn> turns;
};

/// Speaks cuts; keeps the agent's phrases, which come again and again.
class Composer {
 public:
  explicit Composer(uint64_t seed) : seed_(seed) {}
  /// Usually one dialogue; two when an interrupted one would exceed the plan's limit.
  std::vector<Dialogue> compose(const CutPlan& plan);
  /// An agent's phrase in whole frames, silent at both edges.
  const Speech& agent_phrase(const std::string& text);

 private:
  uint64_t seed_;
  Speaker speaker_;
  std::map<std::string, Speech> phrases_;
};

}  // namespace s2s::synth
