#pragma once
// Meanings of English words inside a number: twenty, oh, hundredth, dollars, percent, point.

#include <string>

namespace s2s {

struct NumberWord {
  enum class Kind {
    kOther,
    kZero,        // o, oh, zero
    kUnit,        // one .. nineteen; digits "1".."19"
    kTens,        // twenty .. ninety; digits "20".."90"
    kMultiplier,  // hundred, thousand ..; `zeros` is the power of ten
    kSign,        // minus, plus; symbol "-" or "+" before a number
    kCurrency,    // dollars, cents; symbol "$"; the word follows a number
    kPercent,     // percent, or "per" before "cent"
    kConnector,   // and, double, triple, point
  };
  Kind kind = Kind::kOther;
  std::string digits;
  size_t zeros = 0;
  std::string suffix;  // "s" or an ordinal's "st", "nd", "rd", "th"; ends the number
  std::string symbol;

  bool is_number_word() const { return kind != Kind::kOther; }
};

const NumberWord& number_word(const std::string& word);

}  // namespace s2s
