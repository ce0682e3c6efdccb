#include "s2s/foreign_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/mapped_file.h"
#include "base/utf8_reader.h"
#include "s2s/interrupted_calls.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// Compares names and does not follow links.
bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

void append_escaped(std::string& out, uint32_t character) {
  if (character == '\n') {
    out += "\\n";
  } else if (character == '\t') {
    out += "\\t";
  } else if (character < 0x100) {
    out += fmt::format("\\x{:02x}", character);
  } else {
    out += fmt::format("\\u{:04x}", character);
  }
}

std::string without_controls(std::string_view text, bool with_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character first = first_character(text);
    const bool is_valid = first.kind == Utf8Character::kValid;
    const size_t num_bytes = is_valid ? first.num_bytes : 1;
    if (!is_valid) {
      append_escaped(out, static_cast<unsigned char>(text[0]));
    } else if (with_lines && (first.code == '\n' || first.code == '\t')) {
      out += static_cast<char>(first.code);
    } else if (is_control_character(first.code)) {
      append_escaped(out, first.code);
    } else {
      out += text.substr(0, num_bytes);
    }
    text.remove_prefix(num_bytes);
  }
  return out;
}

}  // namespace

std::string read_small_file(const std::string& path, size_t max_bytes) {
  const RegularFile file(path);
  if (file.size() > max_bytes) file.fail(EFBIG);
  // Reads one byte more than the size, so that reading ends for a file that grows. Files of /proc
  // have size 0, but may have content.
  constexpr size_t kUnknownBytes = size_t{1} << 16;
  std::string text(file.size() > 0 ? file.size() + 1 : kUnknownBytes, '\0');
  size_t length = 0;
  InterruptedCalls interrupted;
  while (length < text.size()) {
    const ssize_t got = ::read(file.descriptor(), text.data() + length, text.size() - length);
    if (got < 0 && interrupted.again()) continue;
    if (got < 0) file.fail(errno);
    if (got == 0) break;
    interrupted.reset();
    length += static_cast<size_t>(got);
    if (length > max_bytes) file.fail(EFBIG);
    if (length == text.size()) text.resize(2 * length);
  }
  text.resize(length);
  // Files of /sys report a size that is larger than their content; this file was truncated.
  if (length < file.size() && file.size_now() < file.size()) file.fail(ESTALE);
  return text;
}

std::string lfs_pointer_text(const std::string& path) {
  constexpr size_t kMostBytes = 1024;  // limit of a pointer, by its specification
  std::string text;
  try {
    text = read_small_file(path, kMostBytes);
  } catch (const std::system_error&) {
    return "";
  }
  if (!text.starts_with("version https://git-lfs.github.com/spec/")) return "";
  constexpr std::string_view kSize = "\nsize ";
  const size_t at = text.find(kSize);
  const std::string size =
      at == std::string::npos
          ? ""
          : text.substr(at + kSize.size(), text.find('\n', at + 1) - at - kSize.size());
  return "it is a Git LFS pointer in place of the file" +
         (size.empty() ? std::string() : " of " + printable_name(size) + " bytes") +
         "; run 'git lfs pull' in its folder, or download the file itself";
}

std::string link_out_of(const std::string& path, const std::string& folder) {
  std::error_code failed;
  if (!fs::is_symlink(fs::symlink_status(path, failed))) return "";
  const fs::path target = fs::canonical(path, failed);
  if (failed) return "";
  const fs::path top = fs::canonical(folder.empty() ? "." : folder, failed);
  if (failed || is_below(target, top)) return "";
  // models--OWNER--NAME/snapshots/REVISION/.../NAME leads to models--OWNER--NAME/blobs/HASH.
  for (fs::path revision = top; revision.has_relative_path(); revision = revision.parent_path()) {
    const fs::path snapshots = revision.parent_path();
    const bool is_cache = snapshots.filename() == "snapshots";
    if (is_cache && is_below(target, snapshots.parent_path() / "blobs")) return "";
  }
  return target.string();
}

std::string printable(std::string_view text) {
  const std::string clean = without_controls(text, /*with_lines=*/true);
  std::string out;
  out.reserve(clean.size());
  for (size_t i = 0; i < clean.size(); ++i) {
    out += clean[i];
    const bool begins_line = clean[i] == '\n' && i + 1 < clean.size();
    if (begins_line && clean[i + 1] != ' ' && clean[i + 1] != '\n') out += "  ";
  }
  return out;
}

std::string printable_name(std::string_view name) {
  return without_controls(name, /*with_lines=*/false);
}

}  // namespace s2s
