#pragma once
// Copies template folders for `plugin new` and `new`.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace s2s::run {

/// Returns the folder that contains bin/ and share/s2s/: an installation prefix, or a build tree.
std::filesystem::path install_prefix();

/// Returns PREFIX/share/s2s: templates, configurations and documentation.
std::filesystem::path shared_files();

std::string replaced(std::string text, const std::string& mark, const std::string& value);

using TemplateMark = std::pair<std::string, std::string>;

/// Copies the files below `from` to the same relative paths below `to`, and replaces the
/// placeholders in order.
/// Errors: [io/write].
void copy_template(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::vector<TemplateMark>& marks);

}  // namespace s2s::run
