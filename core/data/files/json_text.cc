#include "files/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace s2s::data {
namespace {

/// "digits" and the decimal exponent of the first one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal shortest(double magnitude) {
  std::array<char, 40> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), magnitude,
                                  std::chars_format::scientific)
                        .ptr;
  Decimal decimal;
  const char* at = text.data();
  for (; at != end && *at != 'e'; ++at) {
    if (*at != '.') decimal.digits += *at;
  }
  decimal.exponent = std::atoi(std::string(at + 1, end).c_str());
  return decimal;
}

std::string fixed_text(const Decimal& decimal) {
  const auto num_digits = static_cast<int>(decimal.digits.size());
  if (decimal.exponent < 0) {
    return "0." + std::string(static_cast<size_t>(-decimal.exponent - 1), '0') + decimal.digits;
  }
  if (decimal.exponent >= num_digits - 1) {
    return decimal.digits +
           std::string(static_cast<size_t>(decimal.exponent - num_digits + 1), '0') + ".0";
  }
  const auto point = static_cast<size_t>(decimal.exponent + 1);
  return decimal.digits.substr(0, point) + "." + decimal.digits.substr(point);
}

std::string scientific_text(const Decimal& decimal) {
  std::string text = decimal.digits.substr(0, 1);
  if (decimal.digits.size() > 1) text += "." + decimal.digits.substr(1);
  const std::string exponent = std::to_string(std::abs(decimal.exponent));
  return text + (decimal.exponent < 0 ? "e-" : "e+") + (exponent.size() < 2 ? "0" : "") + exponent;
}

}  // namespace

std::string python_number(double number) {
  if (std::isnan(number)) return "nan";
  const std::string sign = std::signbit(number) ? "-" : "";
  if (std::isinf(number)) return sign + "inf";
  if (number == 0) return sign + "0.0";
  const Decimal decimal = shortest(std::fabs(number));
  const bool fixed = decimal.exponent >= -4 && decimal.exponent < 16;
  return sign + (fixed ? fixed_text(decimal) : scientific_text(decimal));
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number < 0 ? "-Infinity" : "Infinity";
  } else {
    out += python_number(number);
  }
}

void append_json_integers(std::string& out, const std::vector<int64_t>& numbers) {
  out += '[';
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(numbers[i]);
  }
  out += ']';
}

std::string& JsonObjectText::value(std::string_view name) {
  if (!first_) out_ += ',';
  first_ = false;
  append_json_string(out_, name);
  out_ += ':';
  return out_;
}

void JsonObjectText::text(std::string_view name, std::string_view text) {
  append_json_string(value(name), text);
}

void JsonObjectText::number(std::string_view name, double number) {
  append_json_number(value(name), number);
}

void JsonObjectText::integer(std::string_view name, int64_t integer) {
  value(name) += std::to_string(integer);
}

void JsonObjectText::integers(std::string_view name, const std::vector<int64_t>& numbers) {
  append_json_integers(value(name), numbers);
}

void JsonObjectText::raw(std::string_view name, std::string_view json) { value(name) += json; }

}  // namespace s2s::data
