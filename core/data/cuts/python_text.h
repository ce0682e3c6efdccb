#pragma once

#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// What Python's str() says of the JSON value: strings as they are, True, None, ['a', 1.0].
std::string python_text(const JsonText& json);
/// A string as JSON.
JsonText json_of_text(const std::string& text);

}  // namespace s2s::data
