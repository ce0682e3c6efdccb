#pragma once
// Options of the metrics of turns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/options.h"

namespace s2s::turn_taking {

/// Voice activity by Silero's network, under the names of its get_speech_timestamps.
struct SileroOptions {
  std::optional<std::string> path;
  double threshold = 0.5;
  std::optional<double> neg_threshold;
  int64_t min_speech_duration_ms = 250;
  int64_t min_silence_duration_ms = 100;
  int64_t speech_pad_ms = 30;

  void visit(OptionVisitor& v);
};

struct TurnTakingOptions {
  SileroOptions silero;

  void visit(OptionVisitor& v);
};

/// Data sets by the benchmark's tasks. The names are those of its folders.
struct FullDuplexBenchOptions {
  std::vector<std::string> tasks;
  std::vector<std::string> pause_handling = {"candor_pause_handling", "synthetic_pause_handling"};
  std::vector<std::string> backchannel = {"icc_backchannel"};
  std::vector<std::string> smooth_turn_taking = {"candor_turn_taking"};
  std::vector<std::string> user_interruption = {"synthetic_user_interruption"};
  std::optional<std::string> backchannel_distributions;
  SileroOptions silero;

  void visit(OptionVisitor& v);
  bool has(const std::string& task) const;
};

}  // namespace s2s::turn_taking
