#include "s2s_run/columns.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/number_text.h"
#include "base/text.h"
#include "s2s/foreign_text.h"

namespace s2s::run {

namespace {

constexpr size_t kNarrowest = 24;  // minimum width for wrapped text

/// Width of the terminal on standard output, or the variable COLUMNS; 0 if there is neither.
size_t output_width() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (known) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  return columns == nullptr ? 0 : read_number<size_t>(columns).value_or(0);
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
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
    if (cell.empty()) return;
    indent = 4;
    line = std::string(indent, ' ');
  }
  for (const std::string& part : wrapped(cell, std::max(width - indent, kNarrowest))) {
    std::printf("%s%s\n", line.c_str(), part.c_str());
    line = std::string(indent, ' ');
  }
}

using Rows = std::vector<std::vector<std::string>>;

/// The widest cell of each column.
std::vector<size_t> widths_of(const Rows& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

/// Columns between the first and the last one that make a row longer than `most` lose their long
/// cells: "bounds: 1 to 16", under their heading, goes to the beginning of the last cell.
void move_long_cells(Rows& rows, size_t most) {
  for (size_t limit = 40; limit >= 8; limit -= 4) {
    const std::vector<size_t> widths = widths_of(rows);
    size_t used = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i) used += widths[i] + 2;
    if (used <= most) return;
    for (size_t r = 1; r < rows.size(); ++r) {
      for (size_t i = rows[r].size(); i-- > 2;) {  // the last but one is the first to go
        std::string& cell = rows[r][i - 1];
        if (cell.size() <= limit) continue;
        const std::string heading = i <= rows[0].size() ? lower(rows[0][i - 1]) + ": " : "";
        std::string& last = rows[r].back();
        last = heading + cell + (last.empty() ? "" : "; " + last);
        cell.clear();
      }
    }
  }
}

}  // namespace

void print_columns(const std::vector<std::vector<std::string>>& table) {
  std::vector<std::vector<std::string>> rows = table;
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = printable_name(cell);
  }
  const size_t width = output_width();
  if (width > 0) move_long_cells(rows, width);
  const std::vector<size_t> widths = widths_of(rows);
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
