#pragma once

#include <string>
#include <string_view>

namespace s2s::trackers {

/// SHA-256 in hexadecimal. Source: FIPS 180-4.
std::string sha256(std::string_view bytes);

}  // namespace s2s::trackers
