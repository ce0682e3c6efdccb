#include "eval/text/decimal_text.h"

namespace s2s {

namespace {

std::string without_leading_zeros(const std::string& digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : digits.substr(first);
}

std::string add_digits(const std::string& a, const std::string& b) {
  std::string sum;
  int carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const int x = i < a.size() ? a[a.size() - 1 - i] - '0' : 0;
    const int y = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    sum.push_back(static_cast<char>('0' + (x + y + carry) % 10));
    carry = (x + y + carry) / 10;
  }
  std::reverse(sum.begin(), sum.end());
  return without_leading_zeros(sum);
}

}  // namespace

NumberSoFar NumberSoFar::integer(const std::string& digits) {
  return {without_leading_zeros(digits), false};
}

NumberSoFar NumberSoFar::run(std::string text) { return {std::move(text), true}; }

bool NumberSoFar::is_multiple_of_power(size_t zeros) const {
  if (is_zero()) return true;
  return text_.size() > zeros &&
         text_.find_first_not_of('0', text_.size() - zeros) == std::string::npos;
}

NumberSoFar NumberSoFar::plus_in_zeros(const std::string& digits) const {
  return integer(add_digits(text_, digits));
}

NumberSoFar NumberSoFar::followed_by(const std::string& text) const {
  return run((is_zero() ? "" : text_) + text);
}

NumberSoFar NumberSoFar::scale_below_thousand(size_t zeros) const {
  const size_t split = text_.size() > 3 ? text_.size() - 3 : 0;
  const std::string thousands = text_.substr(0, split) + (split > 0 ? "000" : "");
  return integer(add_digits(thousands, text_.substr(split) + std::string(zeros, '0')));
}

std::optional<NumberSoFar> NumberSoFar::times_power(size_t zeros) const {
  const size_t point = text_.find('.');
  const std::string whole = text_.substr(0, point);
  std::string fraction = point == std::string::npos ? "" : text_.substr(point + 1);
  const std::string digits = whole + fraction;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  if (fraction.size() > zeros) {
    if (fraction.find_first_not_of('0', zeros) != std::string::npos) return {};
    fraction.resize(zeros);
  }
  return integer(whole + fraction + std::string(zeros - fraction.size(), '0'));
}

}  // namespace s2s
