#pragma once
// Files of a folder that a conversion does not read.

#include <string>
#include <vector>

#include "convert/importer.h"

namespace s2s::convert {

/// Returns the recordings below `folder` in formats that are not read (.m4a, .webm, ...), and the
/// text files that are no transcript of a recording, sorted by path. Hidden files and files of
/// other types are left out.
std::vector<std::string> unread_files(const std::string& folder, const ImportOptions& options = {});

/// Returns "2 files were not read: a.m4a, b.srt; ..." with a hint to install ffmpeg, or "" without
/// files. Names are relative to `folder`.
std::string unread_text(const std::vector<std::string>& files, const std::string& folder);

/// Whether a file name has the extension of a recording that ffmpeg can convert.
bool is_other_audio_name(const std::string& path);

/// Returns "ffmpeg -i a.m4a a.wav".
std::string readable_command(const std::string& path);

}  // namespace s2s::convert
