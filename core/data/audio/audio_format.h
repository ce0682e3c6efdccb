#pragma once
// Names of audio formats, in Lhotse's words, for libsndfile's numbers.

#include <string>

namespace s2s::data {

/// wav, flac, ogg, opus, mp3, ... of SF_INFO::format; "unknown" for what has no name here.
std::string audio_format_name(int format);
/// The container and encoding that Lhotse writes for a name; 0: it has no such format.
/// "wav" has 16 bits, "wav_float" 32 bits of floating point.
int audio_format_number(const std::string& name);
/// All names that audio_format_number knows, with commas between.
std::string audio_format_names();

}  // namespace s2s::data
