#pragma once
// Encodes clips: WAV files next to a report, and compressed audio inside it.

#include <filesystem>
#include <string>
#include <string_view>

#include "s2s/kinds/scorer.h"

namespace s2s {

enum class AudioEncoding { kOggVorbis, kWav };

/// Returns a mono audio file of the clip [S]. Samples are clamped to [-1, 1]. NaN becomes silence.
std::string encode_audio(const AudioClip& clip, AudioEncoding encoding);

/// Writes a file. Errors: [eval/report-write].
void write_bytes(const std::filesystem::path& path, std::string_view bytes);

/// Returns "data:MIME;base64,...".
std::string data_uri(const char* mime, std::string_view bytes);

}  // namespace s2s
