#include "s2s_run/columns.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "s2s/foreign_text.h"

namespace s2s::run {

namespace {

constexpr size_t kNarrowest = 24;  // minimum width for wrapped text

/// Width of the terminal on standard output; 0 if it is not a terminal.
size_t output_width() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 0;
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

/// Prints the last cell after `line`; on a terminal, wraps it.
void print_last(std::string line, const std::string& cell, size_t width) {
  if (width == 0 || line.size() + cell.size() <= width) {
    std::printf("%s%s\n", line.c_str(), cell.c_str());
    return;
  }
  size_t indent = line.size();
  if (indent + kNarrowest > width) {  // print it below the row
    std::printf("%s\n", line.c_str());
    indent = 4;
    line = std::string(indent, ' ');
  }
  for (const std::string& part : wrapped(cell, std::max(width - indent, kNarrowest))) {
    std::printf("%s%s\n", line.c_str(), part.c_str());
    line = std::string(indent, ' ');
  }
}

}  // namespace

void print_columns(const std::vector<std::vector<std::string>>& table) {
  std::vector<std::vector<std::string>> rows = table;
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = printable_name(cell);
  }
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const size_t width = output_width();
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    print_last(std::move(line), row.empty() ? "" : row.back(), width);
  }
}

std::string short_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::proximate(path, error);
  return error || relative.string().starts_with("..") ? path : relative.string();
}

}  // namespace s2s::run
