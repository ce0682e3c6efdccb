#pragma once
// Reads, parses and displays untrusted text: size and depth are limited, and control characters are
// escaped for display.

#include <cstddef>
#include <string>
#include <string_view>

namespace s2s {

/// Size limit of a configuration, index or manifest that is read as a whole. The largest known file
/// (the index of a model with 200,000 tensors) has 30 MB.
inline constexpr size_t kSmallFileBytes = size_t{64} << 20;
/// Deepest nesting of JSON objects and arrays that is parsed.
inline constexpr int kJsonDepth = 128;

/// Reads a regular file. Named pipes and devices are refused without blocking.
/// Errors: std::system_error with the path, when the file cannot be opened or read, is not a
/// regular file (EINVAL, EISDIR), has more than `max_bytes` bytes (EFBIG) or became shorter while
/// it was read (ESTALE).
std::string read_small_file(const std::string& path, size_t max_bytes = kSmallFileBytes);

/// What to say of a file of a repository whose large files were not downloaded: "it is a Git LFS
/// pointer ...", with the way out. "" for any other file.
std::string lfs_pointer_text(const std::string& path);

/// Returns the target of the symbolic link `path` if it is outside `folder`, and also outside the
/// blobs of the Hugging Face cache that `folder` is a snapshot of. Returns "" for a regular file,
/// for a link that stays inside, and for a broken link. Check this before a file is copied for
/// others: a downloaded folder can link to any file of this machine.
std::string link_out_of(const std::string& path, const std::string& folder);

/// True when the JSON text is nested at most `depth` deep. Recursive parsers need this check before
/// they run. Text that is not JSON is checked up to its first syntax error.
bool is_json_depth_within(std::string_view text, int depth = kJsonDepth);
/// True when the JSON text may have more values (numbers, texts, lists, objects, ...) than `most`.
/// A value of two bytes takes a hundred in memory.
bool has_more_json_values(std::string_view text, size_t most);

/// Returns `text` made safe for a terminal. Control characters (except newlines and tabs), the C1
/// set, line and paragraph separators, direction marks and invalid UTF-8 become \x1b, \u202e and so
/// on. Every line after the first is indented by two spaces unless it begins with a space, so that
/// untrusted text cannot imitate a new message.
std::string printable(std::string_view text);
/// The same for a name within a line: newlines and tabs become \n and \t.
std::string printable_name(std::string_view name);

}  // namespace s2s
