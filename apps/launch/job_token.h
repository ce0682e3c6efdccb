#pragma once
// A secret that the ranks of one start share.

#include <string>

namespace s2s::launch {

/// 128 random bits in hexadecimal digits. Errors: std::system_error.
std::string new_token();

}  // namespace s2s::launch
