#pragma once
// Tokens as text, with marks around those that a model learns.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

/// The decoded tokens. Tokens that decoding skips appear as pieces ("</s>"). Labels are enclosed in
/// [[ and ]]. `is_label`: parallel to `ids`.
std::string with_label_marks(const std::vector<int64_t>& ids, const std::vector<bool>& is_label,
                             const Tokenizer& tokenizer);

}  // namespace s2s::run
