#pragma once
// The meaning of a plain YAML scalar: the core schema of YAML 1.2; '_' may group digits.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s {

/// "", "~", "null", "Null", "NULL".
bool is_null_text(std::string_view text);
/// true/True/TRUE, false/False/FALSE. yes, no, on and off are strings.
std::optional<bool> parse_bool(std::string_view text);
/// Decimal, 0x... and 0o... numbers of 64 bits. Refuses a leading zero ("010"), which YAML 1.1 and
/// 1.2 read differently.
std::optional<int64_t> parse_int(std::string_view text);
/// Decimal numbers with or without fraction and exponent ("1e-4"), .inf and .nan, and integers.
std::optional<double> parse_float(std::string_view text);
/// True if a plain scalar with this text is a string.
bool is_string_text(std::string_view text);

/// True if `text` needs no quotes anywhere in a file (a cautious choice).
bool can_be_plain_yaml(std::string_view text);
std::string quoted_yaml(std::string_view text);
/// The string as a scalar for readers of YAML 1.1 and 1.2, with quotes only where needed.
std::string yaml_string(std::string_view text);

}  // namespace s2s
