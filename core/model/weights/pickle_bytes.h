#pragma once
// A read pickle as bytes, for pickles that a parser process read.

#include <string>
#include <string_view>

#include "weights/pickle.h"

namespace s2s {

std::string pickle_to_bytes(const Pickle& pickle);
/// Errors: std::runtime_error for bytes that are no pickle's.
Pickle pickle_from_bytes(std::string_view bytes);

}  // namespace s2s
