#include "s2s/foreign_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/utf8_reader.h"

namespace s2s {
namespace {

[[noreturn]] void fail(int code, const std::string& path) {
  throw std::system_error(code, std::generic_category(), path);
}

struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

size_t size_of(int file, const std::string& path, size_t max_bytes) {
  struct stat status {};
  if (::fstat(file, &status) != 0) fail(errno, path);
  if (!S_ISREG(status.st_mode)) fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, path);
  if (static_cast<size_t>(status.st_size) > max_bytes) fail(EFBIG, path);
  return static_cast<size_t>(status.st_size);
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
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) fail(errno, path);
  const Descriptor file{number};
  // One more byte than it has: a file that grows while it is read ends, too. Files of /proc have no
  // size and some content.
  constexpr size_t kUnknownBytes = size_t{1} << 16;
  const size_t size = size_of(number, path, max_bytes);
  std::string text(size > 0 ? size + 1 : kUnknownBytes, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(number, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, path);
    if (got == 0) break;
    length += static_cast<size_t>(got);
    if (length > max_bytes) fail(EFBIG, path);
    if (length == text.size()) text.resize(2 * length);
  }
  text.resize(length);
  return text;
}

bool is_json_depth_within(std::string_view text, int depth) {
  int level = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++level > depth) return false;
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return true;
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
