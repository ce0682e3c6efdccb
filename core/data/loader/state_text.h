#pragma once
// Positions as text: short ones as they are, long ones compressed.

#include <string>

namespace s2s::data {

/// "z:" and base64 of what zlib makes of a long text. The same bytes for the same text.
std::string packed_state(const std::string& json);
/// Errors: [data/state].
std::string unpacked_state(const std::string& text, const std::string& path);

}  // namespace s2s::data
