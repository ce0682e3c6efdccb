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
  v("tasks", tasks,
    "what to measure; backchannel, timing and general_before_after need silero.path",
    required(one_of({"pause_handling", "backchannel", "smooth_turn_taking", "user_interruption",
                     "timing", "general_before_after"})));
  v("pause_handling", pause_handling, "data sets in whose pauses the agent is to stay silent");
  v("backchannel", backchannel, "data sets in which the agent is to listen");
  v("smooth_turn_taking", smooth_turn_taking, "data sets in which the agent is to answer");
  v("user_interruption", user_interruption,
    "data sets in which the user's last turn interrupts the agent");
  v("overlap", overlap,
    "data sets of timing and general_before_after, in whose last user turn both may speak");
  v("backchannel_distributions", backchannel_distributions,
    "file with the times of people's backchannels, icc_gt_distribution.json of the benchmark; "
    "null: "
    "no fdb_backchannel_jsd");
  v("silero", silero, "voice activity of backchannels and of timing");
}

void VoicebenchVadOptions::visit(OptionVisitor& v) {
  v("threshold_db", threshold_db, "level from which a frame is speech, dB re full scale");
  v("hysteresis_db", hysteresis_db, "how far below it speech goes on", at_least(0));
  v("frame_ms", frame_ms, "length of a frame", at_least(1));
  v("min_speech_ms", min_speech_ms, "speech begins when it has lasted this long", at_least(0));
  v("min_silence_ms", min_silence_ms, "speech ends after this much silence", at_least(0));
}

void VoicebenchVads::visit(OptionVisitor& v) {
  v("user", user, "speech of the user");
  v("agent", agent, "speech of the agent");
}

void VoicebenchOptions::visit(OptionVisitor& v) {
  v("user_turns", user_turns,
    "turns of the user: data (those that the data plans) or audio (speech that vad.user finds)",
    required(one_of({"data", "audio"})));
  v("ignore", ignore,
    "data sets whose user turns want no reaction (expect: ignore), such as noise or speech to "
    "others");
  v("sample_rate", sample_rate, "rate at which levels are measured, Hz", at_least(8000));
  v("frame_ms", frame_ms, "length of a packet of the agent's audio", at_least(5));
  v("vad", vad, "speech by levels");
  v("response_timeout_ms", response_timeout_ms, "a later answer is none", at_least(0));
  v("max_stop_ms", max_stop_ms, "an interrupted agent is to be silent after this time",
    at_least(0));
}

}  // namespace s2s::turn_taking
