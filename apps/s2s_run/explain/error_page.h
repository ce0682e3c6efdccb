#pragma once
// core/docs/reference/errors.md, embedded into the program at build time.

#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Returns the text of "errors.md". Asserts on another name.
std::string_view error_page(std::string_view name);

}  // namespace s2s

namespace s2s::run {

/// A section of the page.
struct ErrorEntry {
  std::string id;  // "config/type"
  int exit_code = 1;
  std::string heading;  // of the section: "config/type", or several ids
  std::string area;     // the heading above: "Configuration"
  std::string text;     // what happened and what to do: lines of Markdown without links
  /// The first sentence.
  std::string cause() const;
};

/// The entries of a page written like errors.md, in its order.
std::vector<ErrorEntry> parse_error_page(std::string_view page);

}  // namespace s2s::run
