#pragma once
// The HTML page, style and scripts of the report, embedded into the program at build time.

#include <string_view>

namespace s2s {

/// Returns the text of a file of core/training/eval/report/page. Asserts that the file exists.
std::string_view report_file(std::string_view name);

}  // namespace s2s
