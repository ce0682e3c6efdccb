#include "turn_taking_options.h"

#include <algorithm>

namespace s2s::turn_taking {

void SileroOptions::visit(OptionVisitor& v) {
  v("path", path,
    "weights of the network: the state of the package silero-vad's module; null: speech is found "
    "by its level");
  v("threshold", threshold, "probability from which a chunk is speech", between(0, 1));
  v("neg_threshold", neg_threshold,
    "probability below which speech ends; null: threshold - 0.15, at least 0.01", between(0, 1));
  v("min_speech_duration_ms", min_speech_duration_ms,
    "speech that is not longer than this is dropped", at_least(0));
  v("min_silence_duration_ms", min_silence_duration_ms, "a shorter silence does not end speech",
    at_least(0));
  v("speech_pad_ms", speech_pad_ms, "added at both ends of speech", at_least(0));
}

void TurnTakingOptions::visit(OptionVisitor& v) {
  v("silero", silero, "voice activity by Silero's network in place of levels");
}

bool FullDuplexBenchOptions::has(const std::string& task) const {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

void FullDuplexBenchOptions::visit(OptionVisitor& v) {
  v("tasks", tasks, "what to measure; backchannel needs silero.path",
    required(one_of({"pause_handling", "backchannel", "smooth_turn_taking", "user_interruption"})));
  v("pause_handling", pause_handling, "data sets in whose pauses the agent is to stay silent");
  v("backchannel", backchannel, "data sets in which the agent is to listen");
  v("smooth_turn_taking", smooth_turn_taking, "data sets in which the agent is to answer");
  v("user_interruption", user_interruption,
    "data sets in which the user's last turn interrupts the agent");
  v("backchannel_distributions", backchannel_distributions,
    "file with the times of people's backchannels, icc_gt_distribution.json of the benchmark; "
    "null: "
    "no fdb_backchannel_jsd");
  v("silero", silero, "voice activity of the backchannels");
}

}  // namespace s2s::turn_taking
