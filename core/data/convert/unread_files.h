#pragma once
// Files of a folder that a conversion does not read.

#include <string>
#include <vector>

#include "convert/importer.h"

namespace s2s::convert {

/// Recordings in formats that are not read (.m4a, .webm, ...), and text files that are no
/// transcript of a recording, below `folder`, sorted by path. Hidden files and other kinds of files
/// are left out.
std::vector<std::string> unread_files(const std::string& folder, const ImportOptions& options = {});

/// "2 files were not read: a.m4a, b.srt; ..." with what makes a recording readable: ffmpeg, which
/// is to be installed; "" without files. Names are relative to `folder`.
std::string unread_text(const std::vector<std::string>& files, const std::string& folder);

/// Whether a file's name ends as that of a recording which ffmpeg can turn into one that is read.
bool is_other_audio_name(const std::string& path);

/// "ffmpeg -i a.m4a a.wav".
std::string readable_command(const std::string& path);

}  // namespace s2s::convert
