#pragma once
// Converts between Lhotse's names of audio formats and libsndfile's numbers.

#include <string>

namespace s2s::data {

/// Returns wav, flac, ogg, opus, mp3, ... for SF_INFO::format; "unknown" for a format without a
/// name here.
std::string audio_format_name(int format);
/// Returns the container and encoding that Lhotse writes for a name, or 0 for an unknown name.
/// "wav" has 16-bit samples, "wav_float" 32-bit floating point samples.
int audio_format_number(const std::string& name);
/// All names that audio_format_number knows, separated by commas.
std::string audio_format_names();

}  // namespace s2s::data
