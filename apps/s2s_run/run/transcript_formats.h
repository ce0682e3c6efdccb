#pragma once
// The formats of `transcribe`.

#include <cstdint>
#include <string>

#include "s2s_run/run/recording_groups.h"

namespace s2s::run {

/// A line for each channel. has_name: begins with the name of the recording, as far as it is safe
/// for a terminal.
std::string transcript_text(const RecordingTranscript& recording, bool has_name);

/// A line for each channel, as a NeMo manifest has them, with the words, and with confidences where
/// the recognizer has them.
std::string transcript_json(const RecordingTranscript& recording);

/// SubRip, in the order of time. Channels of a recording have their number in front.
std::string transcript_srt(const RecordingTranscript& recording);

/// The transcript of a recording as Moshi's data sets have it: words of all channels in the order
/// of time, with the label of their speaker.
std::string transcript_alignments(const RecordingTranscript& recording, int64_t agent_channel);

}  // namespace s2s::run
