#include "config/scalar.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/number_text.h"
#include "base/text.h"

namespace s2s {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text;
}

/// Removes every '_' between two digits.
std::string without_grouping(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool grouping = text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) &&
                          is_digit(text[i + 1]);
    if (!grouping) out += text[i];
  }
  return out;
}

/// [0-9]* [. [0-9]*] with at least one digit, then [eE][+-]?[0-9]+.
bool has_float_shape(std::string_view text) {
  size_t i = 0;
  size_t digits = 0;
  while (i < text.size() && is_digit(text[i])) ++i, ++digits;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && is_digit(text[i])) ++i, ++digits;
  }
  if (digits == 0) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  const std::string_view exponent = without_sign(text.substr(i + 1));
  return !exponent.empty() && exponent.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<double> parse_special_float(std::string_view text) {
  const std::string_view body = without_sign(text);
  if (body == ".inf" || body == ".Inf" || body == ".INF") {
    const double infinity = std::numeric_limits<double>::infinity();
    return text[0] == '-' ? -infinity : infinity;
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

}  // namespace

bool is_null_text(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) {
  if (text.starts_with("0x") && text.size() > 2 && text[2] != '-') {
    return read_number<int64_t>(text.substr(2), 16);
  }
  if (text.starts_with("0o") && text.size() > 2 && text[2] != '-') {
    return read_number<int64_t>(text.substr(2), 8);
  }
  std::string digits = without_grouping(text);
  const std::string_view body = without_sign(digits);
  if (body.empty() || !is_digit(body[0]) || (body.size() > 1 && body[0] == '0')) {
    return std::nullopt;
  }
  if (digits[0] == '+') digits.erase(0, 1);
  return read_number<int64_t>(digits, 10);
}

std::optional<double> parse_float(std::string_view text) {
  if (const auto special = parse_special_float(text)) return special;
  if (const auto whole = parse_int(text)) return static_cast<double>(*whole);
  std::string number = without_grouping(text);
  const std::string_view body = without_sign(number);
  const bool leading_zero = body.size() > 1 && body[0] == '0' && is_digit(body[1]);
  if (leading_zero || !has_float_shape(body)) return std::nullopt;
  if (number[0] == '+') number.erase(0, 1);
  return read_number<double>(number);
}

bool is_string_text(std::string_view text) {
  return !is_null_text(text) && !parse_bool(text) && !parse_float(text);
}

bool can_be_plain_yaml(std::string_view text) {
  if (text == "???") return true;
  const bool good_start =
      !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) != 0 ||
                        std::string_view("_/.^$(").find(text[0]) != std::string_view::npos);
  if (!good_start || text.starts_with("...") || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./+^$()\\=*@%~ ").find(c) != std::string_view::npos;
  });
}

std::string quoted_yaml(std::string_view text) {
  using nlohmann::json;
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string yaml_string(std::string_view text) {
  static const std::vector<std::string> kOldBools = {"y", "n", "yes", "no", "on", "off"};
  const bool is_plain = is_string_text(text) && can_be_plain_yaml(text) &&
                        !contains(kOldBools, lower(std::string(text)));
  return is_plain ? std::string(text) : quoted_yaml(text);
}

}  // namespace s2s
