#pragma once
// Folders of templates, which `plugin new` and `new` copy.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "s2s/error.h"

namespace s2s::run {

/// Returns the folder that holds bin/ and share/s2s/: an installed prefix, or a build tree.
std::filesystem::path install_prefix();

/// Returns PREFIX/share/s2s: templates, configurations and documentation.
std::filesystem::path shared_files();

/// Returns `text` with `value` in place of each `mark`.
std::string replaced(std::string text, const std::string& mark, const std::string& value);

/// A mark of the templates, and what is written in its place.
using TemplateMark = std::pair<std::string, std::string>;

/// Copies the files below `from` to the same places below `to`, with the marks replaced in order.
/// Errors: `cannot_write`(to, reason) when a folder cannot be made, [io/write].
void copy_template(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::vector<TemplateMark>& marks,
                   Error (*cannot_write)(const std::string& folder, const std::string& reason));

}  // namespace s2s::run
