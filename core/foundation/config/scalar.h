#pragma once
// What a plain YAML scalar means: the core schema of YAML 1.2, and digits may be grouped by '_'.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s {

/// "", "~", "null", "Null", "NULL".
bool is_null_text(std::string_view text);
/// true/True/TRUE, false/False/FALSE; yes, no, on and off are strings.
std::optional<bool> parse_bool(std::string_view text);
/// Decimal, 0x... and 0o... numbers that fit 64 bits. A leading zero ("010") is refused, because
/// YAML 1.1 and 1.2 read it differently.
std::optional<int64_t> parse_int(std::string_view text);
/// Decimal numbers with or without fraction and exponent ("1e-4"), .inf and .nan, and integers.
std::optional<double> parse_float(std::string_view text);
/// True when a plain scalar of this text is a string.
bool is_string_text(std::string_view text);

/// True when `text` can stand without quotes in every place of a file (a cautious choice).
bool can_be_plain_yaml(std::string_view text);
std::string quoted_yaml(std::string_view text);
/// The scalar that every reader, of YAML 1.1 too, takes for this string; without quotes if it can.
std::string yaml_string(std::string_view text);

}  // namespace s2s
