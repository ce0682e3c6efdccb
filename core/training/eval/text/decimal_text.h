#pragma once
// A number that is being read: exact, of any size, kept as decimal digits.

#include <optional>
#include <string>

namespace s2s {

/// Either an integer ("205") or a run of characters that only looks like a number ("007", "1.5",
/// "10.0."). The difference decides how the next number word joins it.
class NumberSoFar {
 public:
  static NumberSoFar integer(const std::string& digits);
  static NumberSoFar run(std::string text);

  bool is_run() const { return is_run_; }
  bool is_zero() const { return !is_run_ && text_ == "0"; }
  const std::string& text() const { return text_; }

  /// Whether the integer is a multiple of 10^zeros.
  bool is_multiple_of_power(size_t zeros) const;
  /// The integer plus a number that fits into its trailing zeros.
  NumberSoFar plus_in_zeros(const std::string& digits) const;
  /// Characters appended; a plain zero counts as nothing.
  NumberSoFar followed_by(const std::string& text) const;
  /// Only what stands below a thousand is multiplied by 10^zeros; the rest is added as it is.
  NumberSoFar scale_below_thousand(size_t zeros) const;
  /// The value times 10^zeros when that is a whole number; nothing for what is no number.
  std::optional<NumberSoFar> times_power(size_t zeros) const;

 private:
  NumberSoFar(std::string text, bool is_run) : text_(std::move(text)), is_run_(is_run) {}
  std::string text_;
  bool is_run_;
};

}  // namespace s2s
