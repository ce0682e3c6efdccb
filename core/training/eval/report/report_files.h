#pragma once
// The report's page, style and scripts, put into the program when it is built.

#include <string_view>

namespace s2s {

/// Text of a file of core/training/eval/report/page. Programmer's mistake to ask for another.
std::string_view report_file(std::string_view name);

}  // namespace s2s
