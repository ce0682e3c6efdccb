#pragma once
// Values of a configuration as numbers, where they are numbers.

#include <string>
#include <variant>

namespace s2s::trackers {

using PlainValue = std::variant<std::string, bool, double>;

/// true, false, a finite decimal number, or the text itself.
PlainValue plain_value(const std::string& text);

}  // namespace s2s::trackers
