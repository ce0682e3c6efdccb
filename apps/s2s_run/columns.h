#pragma once
// Tables on a terminal.

#include <string>
#include <vector>

namespace s2s::run {

/// Prints rows with two spaces between columns; the last column is not padded, and on a terminal it
/// takes as many lines as the width asks for. Controls in cells, newlines too, are escaped.
void print_columns(const std::vector<std::vector<std::string>>& table);

/// A path relative to the working directory when it lies inside it, else as it is.
std::string short_path(const std::string& path);

}  // namespace s2s::run
