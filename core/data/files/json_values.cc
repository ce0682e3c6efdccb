#include "files/json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/json_scan.h"
#include "files/files_errors.h"

namespace s2s::files {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

/// Tracks how deeply a JSON text is nested, character by character.
class Nesting {
 public:
  /// Takes the next character.
  void take(char c) {
    if (!scan_.take(c)) return;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
  }
  bool in_string() const { return scan_.in_string(); }
  int64_t depth() const { return depth_; }

 private:
  JsonScan scan_;
  int64_t depth_ = 0;
};

enum class Layout { kLines, kArray, kObjects };

/// Detects the layout from the file's first line. If that line ends inside an object or array, the
/// file does not have JSON lines.
Layout layout_of(const ByteFile& file) {
  constexpr int64_t kLookedAt = 4096;
  const std::string begin =
      file.read_text(0, static_cast<size_t>(std::min(file.size(), kLookedAt)));
  std::string_view text = begin;
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty() || (text[0] != '[' && text[0] != '{')) return Layout::kLines;
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) {  // the line is long
    return text[0] == '[' ? Layout::kArray : Layout::kLines;
  }
  Nesting nesting;
  for (const char c : text.substr(0, end)) nesting.take(c);
  const bool is_open = nesting.depth() > 0 && !nesting.in_string();
  if (text[0] == '[') {
    const bool is_all = text.find_first_not_of(kSpace, end) == std::string_view::npos;
    return is_open || is_all ? Layout::kArray : Layout::kLines;
  }
  return is_open ? Layout::kObjects : Layout::kLines;
}

/// Takes a file's characters and makes a line of each value.
class ValueSplitter {
 public:
  ValueSplitter(const std::string& name, Layout layout)
      : name_(name), floor_(layout == Layout::kArray ? 1 : 0) {}

  /// Returns false if the file is not an array because something follows the array.
  bool take(char c) {
    if (nesting_.in_string()) {
      if (c == '\n') fail("a text has a line break");
      add(c);
      return true;
    }
    if (is_space(c)) return true;
    if (is_done_) return false;
    const bool is_separator = floor_ == 1 && c == ',' && nesting_.depth() == 1;
    const bool is_array_begin = floor_ == 1 && nesting_.depth() == 0;
    const bool is_array_end = floor_ == 1 && c == ']' && nesting_.depth() == 1;
    if (is_array_begin || is_array_end) {
      nesting_.take(c);
      is_done_ = is_array_end;
    } else if (!is_separator) {
      add(c);
    }
    const bool is_object_end = floor_ == 0 && nesting_.depth() == 0;
    if (is_separator || is_array_end || is_object_end) end_value();
    return true;
  }

  std::string finish() {
    const bool has_end = floor_ == 1 ? is_done_ : nesting_.depth() == 0 && !has_value_;
    if (!has_end) fail("the file ends within it");
    return std::move(lines_);
  }

 private:
  void add(char c) {
    has_value_ = true;
    nesting_.take(c);
    lines_ += c;
  }
  void end_value() {
    if (!has_value_) return;
    lines_ += '\n';
    has_value_ = false;
    ++num_values_;
  }
  [[noreturn]] void fail(const char* reason) const {
    throw files_errors::json_value(fmt::format("{}, value {}", name_, num_values_ + 1), reason);
  }

  const std::string& name_;
  int64_t floor_;  // depth of the values
  Nesting nesting_;
  bool has_value_ = false, is_done_ = false;
  int64_t num_values_ = 0;
  std::string lines_;
};

}  // namespace

std::shared_ptr<const ByteFile> json_values_as_lines(const ByteFile& file) {
  const Layout layout = layout_of(file);
  if (layout == Layout::kLines) return nullptr;
  constexpr int64_t kChunkBytes = int64_t{1} << 20;
  ValueSplitter splitter(file.name(), layout);
  for (int64_t begin = 0; begin < file.size(); begin += kChunkBytes) {
    const std::string chunk =
        file.read_text(begin, static_cast<size_t>(std::min(kChunkBytes, file.size() - begin)));
    std::string_view text = chunk;
    if (begin == 0 && text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
    for (const char c : text) {
      if (!splitter.take(c)) return nullptr;
    }
  }
  return std::make_shared<MemoryFile>(file.name(),
                                      std::make_shared<const std::string>(splitter.finish()));
}

}  // namespace s2s::files
