#include "s2s_run/columns.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "s2s/foreign_text.h"

namespace s2s::run {

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
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    std::printf("%s\n", line.c_str());
  }
}

std::string short_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::proximate(path, error);
  return error || relative.string().starts_with("..") ? path : relative.string();
}

}  // namespace s2s::run
