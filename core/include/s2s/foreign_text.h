#pragma once
// Text that somebody else wrote: read with a limit, parsed with a limit, shown without its
// controls.

#include <cstddef>
#include <string>
#include <string_view>

namespace s2s {

/// Largest configuration, index or manifest that is read whole; the largest known (the index of a
/// model of 200,000 tensors) has 30 MB.
inline constexpr size_t kSmallFileBytes = size_t{64} << 20;
/// Deepest nesting of objects and arrays in JSON that is parsed.
inline constexpr int kJsonDepth = 128;

/// The whole of a regular file. Named pipes and devices are refused, not waited for.
/// Errors: std::system_error with the path, when it cannot be opened or read, is no regular file
/// (EINVAL, EISDIR), has more than `max_bytes` bytes (EFBIG) or became shorter while it was read
/// (ESTALE).
std::string read_small_file(const std::string& path, size_t max_bytes = kSmallFileBytes);

/// Where the link `path` leads when that is outside of `folder`, and of the blobs of the Hugging
/// Face cache that `folder` is a snapshot of; "" for a file, for a link that stays, and for one
/// that leads nowhere. A file that is copied for others has to stay: a downloaded folder may name
/// any file of this machine.
std::string link_out_of(const std::string& path, const std::string& folder);

/// True when no object or array of a JSON text lies in more than `depth` others. Parsers that call
/// themselves for each level need it before they run. A text that is no JSON is judged up to where
/// it stops to be some.
bool is_json_depth_within(std::string_view text, int depth = kJsonDepth);

/// `text` as it may go to a terminal: control characters (but for newlines and tabs), the C1 set,
/// line and paragraph separators, direction marks and what is not UTF-8 become \x1b, \u202e and so
/// on. A line behind the first that does not begin with a space gets two: only whoever wrote the
/// message begins lines.
std::string printable(std::string_view text);
/// The same for a name in a line: newlines and tabs are written \n and \t, too.
std::string printable_name(std::string_view name);

}  // namespace s2s
