#pragma once
// Prints tables.

#include <string>
#include <vector>

namespace s2s::run {

/// Prints rows with two spaces between columns. The last column is not padded; on a terminal it is
/// wrapped. Control characters in cells, including newlines, are escaped.
void print_columns(const std::vector<std::vector<std::string>>& table);

/// The path relative to the working directory if it is inside, else unchanged.
std::string short_path(const std::string& path);

}  // namespace s2s::run
