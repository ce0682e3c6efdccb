#pragma once
// Positions as text; long ones are compressed.

#include <string>

namespace s2s::data {

/// Returns short texts unchanged, and long ones as "z:" and base64 of zlib's output. Equal texts
/// give equal bytes.
std::string packed_state(const std::string& json);
/// Errors: [data/state].
std::string unpacked_state(const std::string& text, const std::string& path);

}  // namespace s2s::data
