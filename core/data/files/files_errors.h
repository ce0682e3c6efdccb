#pragma once
// Errors of data files, independent of what they contain. Ids are listed in
// core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::files_errors {

/// `place` is "file:line" or "file:line: cut 'id'".
Error missing_manifest(const std::string& path);
/// `line`: the last good line, from 1; 0 if there is none.
Error gzip(const std::string& path, int64_t line, const std::string& reason);
/// For a file without lines.
Error gzip_bytes(const std::string& path, int64_t num_good_bytes, const std::string& reason);
Error json(const std::string& place, const std::string& reason);
/// A value of a JSON array, or an object over several lines, is wrong.
Error json_value(const std::string& place, const std::string& reason);
/// [data/json] The line after `good_lines` is longer than the limit.
Error long_line(const std::string& path, int64_t good_lines);
/// [data/gzip] The decompressed content has more bytes than the limit.
Error too_much_content(const std::string& path, int64_t compressed_bytes, int64_t most_bytes);
Error too_many_lines(const std::string& path, int64_t compressed_bytes, int64_t num_lines);
Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected);

/// `expected`: "a file of Lhotse cuts (.jsonl or .jsonl.gz); check cuts_path".
Error missing_file(const std::string& path, const std::string& expected);
/// [io/file] The file exists, but it cannot be opened or read.
Error unreadable_file(const std::string& path, const std::string& reason);
Error tar(const std::string& path, int64_t offset, const std::string& reason);
/// The file has changed since its index was made.
Error index(const std::string& path, int64_t row, const std::string& reason);
/// `place`: a file, or a member of an archive.
Error npy(const std::string& place, const std::string& reason);
/// A `pipe:` source failed. `reason` ends with the command's standard error.
Error pipe(const std::string& command, const std::string& reason);
/// A command in a configuration contains the value of this variable.
Error command_secret(const std::string& place, const std::string& variable);
/// The command is from a data file or from a checkpoint's configuration, and the user has not
/// allowed it.
Error command_refused(const std::string& command);
/// The variable S2S_COMMAND_TIMEOUT_S has a wrong value.
Error command_timeout(const std::string& value);
Error url(const std::string& url);
Error braces(const std::string& pattern, const std::string& reason);

}  // namespace s2s::files_errors
