#pragma once
// Errors of sources that are converted to cuts. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::convert_errors {

/// `source` cannot be imported because of `reason`.
Error source(const std::string& source, const std::string& reason);
/// A folder has no recordings; the message lists the files that it has.
Error no_audio(const std::string& folder);
/// A recording has a format that is not supported.
Error other_audio(const std::string& path);
Error missing(const std::string& path, const std::string& expected);
Error unreadable_audio(const std::string& path, const std::string& reason);
/// Puts the place of a command before its error.
Error command(const std::string& place, const Error& error);
Error partner(const std::string& path, const std::string& expected);
Error ambiguous(const std::string& first, const std::string& second);
Error lengths(const std::string& user, double user_s, const std::string& agent, double agent_s);
Error channels(const std::string& path, int64_t found, int64_t wanted);
/// A file of one speaker has several channels.
Error not_mono(const std::string& path, int64_t found);
Error sample_rate(const std::string& place, int64_t found_hz, int64_t wanted_hz);
Error duration(const std::string& place, double found_s, double written_s);
/// A transcript, or a part of it, is wrong at `place`.
Error transcript(const std::string& place, const std::string& found, const std::string& expected);
/// A turn or word is not inside its audio.
Error time(const std::string& place, double start_s, double end_s, double audio_s);
/// A line of a Kaldi file is wrong.
Error kaldi_line(const std::string& place, const std::string& line, const std::string& expected);
Error kaldi_missing(const std::string& place, const std::string& id, const std::string& file);
/// The supervisions at `place` belong to a recording that `manifest` lacks.
Error no_recording(const std::string& place, const std::string& id, const std::string& manifest);
Error duplicate_id(const std::string& place, const std::string& id, const std::string& first);
Error result_name(const std::string& path);
Error exists(const std::string& path);
Error in_use(const std::string& path);
Error empty(const std::string& source);

}  // namespace s2s::convert_errors
