#pragma once
// Renders a planned cut: two audio channels, and turns with word times.

#include <map>
#include <string>
#include <vector>

#include "s2s_run/synth/plan.h"
#include "s2s_run/synth/speaker.h"

namespace s2s::synth {

constexpr int64_t kFrameMs = 80;
/// The agent answers this many frames after the user's end, and stops this many frames after an
/// interruption.
constexpr int64_t kReactionFrames = 3;

struct SpokenTurn {
  bool is_agent = false;
  bool interrupted = false;  // the agent stopped early; `text` is still the whole answer
  double start_s = 0;
  double end_s = 0;
  std::string text;
  std::vector<SpokenWord> words;  // times relative to the cut; only words that have started
};

/// Both channels have exactly `frames` frames.
struct Dialogue {
  int64_t frames = 0;
  std::vector<float> user;   // 16 kHz
  std::vector<float> agent;  // 16 kHz
  std::vector<SpokenTurn> turns;
};

/// Synthesizes cuts. Caches the agent's phrases, which occur many times.
class Composer {
 public:
  explicit Composer(uint64_t seed) : seed_(seed) {}
  /// Usually one dialogue; two when a dialogue with an interruption would exceed the plan's limit.
  std::vector<Dialogue> compose(const CutPlan& plan);
  /// A phrase of the agent as whole frames, with silence at both edges.
  const Speech& agent_phrase(const std::string& text);

 private:
  uint64_t seed_;
  Speaker speaker_;
  std::map<std::string, Speech> phrases_;
};

}  // namespace s2s::synth
