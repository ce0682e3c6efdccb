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
  std::vector<std::string> overlap = {"user_interruption", "user_backchannel", "talking_to_other",
                                      "background_speech"};
  std::optional<std::string> backchannel_distributions;
  SileroOptions silero;

  void visit(OptionVisitor& v);
  bool has(const std::string& task) const;
};

/// Speech by levels, as VadConfig of voicebench.
struct VoicebenchVadOptions {
  double threshold_db = -45;
  double hysteresis_db = 6;
  double frame_ms = 10;
  double min_speech_ms = 50;
  double min_silence_ms = 250;

  void visit(OptionVisitor& v);
};

struct VoicebenchVads {
  VoicebenchVadOptions user, agent;

  void visit(OptionVisitor& v);
};

/// The metric `voicebench`, with names of the package's scenarios.
struct VoicebenchOptions {
  std::string user_turns = "data";  // the config must say it all the same
  std::vector<std::string> ignore;
  int64_t sample_rate = 16000;
  double frame_ms = 20;
  VoicebenchVads vad;
  double response_timeout_ms = 5000;
  double max_stop_ms = 1000;

  void visit(OptionVisitor& v);
};

}  // namespace s2s::turn_taking
