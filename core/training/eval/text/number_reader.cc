#include "eval/text/number_reader.h"

#include <optional>

#include "eval/text/number_words.h"

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

/// A number during reading: exact, of any size, stored as decimal digits. It is either an integer
/// ("205") or a string of characters that only looks like a number ("007", "1.5", "10.0."). The
/// kind decides how the next number word is combined with it.
class NumberSoFar {
 public:
  static NumberSoFar integer(const std::string& digits) {
    return {without_leading_zeros(digits), false};
  }
  static NumberSoFar run(std::string text) { return {std::move(text), true}; }

  bool is_run() const { return is_run_; }
  bool is_zero() const { return !is_run_ && text_ == "0"; }
  const std::string& text() const { return text_; }

  /// Returns true when the integer is a multiple of 10^zeros.
  bool is_multiple_of_power(size_t zeros) const {
    if (is_zero()) return true;
    return text_.size() > zeros &&
           text_.find_first_not_of('0', text_.size() - zeros) == std::string::npos;
  }

  /// Adds a number that fits into the trailing zeros of the integer.
  NumberSoFar plus_in_zeros(const std::string& digits) const {
    return integer(add_digits(text_, digits));
  }

  /// Appends characters. A plain zero is dropped first.
  NumberSoFar followed_by(const std::string& text) const {
    return run((is_zero() ? "" : text_) + text);
  }

  /// Multiplies only the part below one thousand by 10^zeros, and adds the rest unchanged.
  NumberSoFar scale_below_thousand(size_t zeros) const {
    const size_t split = text_.size() > 3 ? text_.size() - 3 : 0;
    const std::string thousands = text_.substr(0, split) + (split > 0 ? "000" : "");
    return integer(add_digits(thousands, text_.substr(split) + std::string(zeros, '0')));
  }

  /// Returns the value times 10^zeros when that is a whole number. Returns nothing otherwise.
  std::optional<NumberSoFar> times_power(size_t zeros) const {
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

 private:
  NumberSoFar(std::string text, bool is_run) : text_(std::move(text)), is_run_(is_run) {}
  std::string text_;
  bool is_run_;
};

using Kind = NumberWord::Kind;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns true for digits, and for digits with a decimal point between them.
bool is_numeric(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return is_digits(text);
  return is_digits(text.substr(0, point)) && is_digits(text.substr(point + 1));
}

/// Returns the currency symbol or sign at the start of a word, or "".
std::string leading_symbol(const std::string& word) {
  for (const char* symbol : {"-", "+", "$", "\u00A3", "\u20AC", "\u00A2"}) {
    if (word.starts_with(symbol)) return symbol;
  }
  return "";
}

bool is_plain_unit(const NumberWord& word) {
  return word.kind == Kind::kUnit && word.suffix.empty();
}

bool is_plain_tens(const NumberWord& word) {
  return word.kind == Kind::kTens && word.suffix.empty();
}

/// Returns true for a word that can follow a decimal point.
bool is_decimal_word(const NumberWord& word) {
  return word.kind == Kind::kZero || is_plain_unit(word) || is_plain_tens(word);
}

/// Reads the words in one pass. A number grows until a word ends it. It is then emitted with its
/// sign or currency.
class NumberReader {
 public:
  explicit NumberReader(const std::vector<std::string>& words) : words_(words) {}

  std::vector<std::string> read() {
    for (at_ = 0; at_ < words_.size(); ++at_) read_word(words_[at_]);
    end_number();
    return std::move(out_);
  }

 private:
  static std::string text_at(const std::vector<std::string>& words, size_t i) {
    return i < words.size() ? words[i] : std::string();
  }
  std::string next_text() const { return text_at(words_, at_ + 1); }
  const NumberWord& next() const { return number_word(next_text()); }
  bool next_is_numeric() const { return is_numeric(next_text()); }
  /// Returns the word before this one, even if it was not part of a number.
  const NumberWord& previous() const {
    return number_word(at_ == 0 ? std::string() : words_[at_ - 1]);
  }

  void emit(const std::string& text) {
    out_.push_back(prefix_ + text);
    prefix_.clear();
    value_.reset();
  }
  void end_number() {
    if (value_) emit(value_->text());
  }

  void read_word(const std::string& word) {
    const std::string symbol = leading_symbol(word);
    const NumberWord& meaning = number_word(word);
    if (is_numeric(std::string_view(word).substr(symbol.size()))) {
      read_digits(word, symbol);
    } else if (meaning.kind == Kind::kOther) {
      end_number();
      emit(word);
    } else {
      read_number_word(word, meaning);
    }
  }

  void read_digits(const std::string& word, const std::string& symbol) {
    if (value_ && value_->is_run() && value_->text().ends_with('.')) {
      value_ = NumberSoFar::run(value_->text() + word);
      return;
    }
    end_number();
    if (!symbol.empty()) prefix_ = symbol;
    const NumberSoFar seen = NumberSoFar::run(word.substr(symbol.size()));
    const std::optional<NumberSoFar> whole = seen.times_power(0);
    value_ = whole ? *whole : seen;
  }

  void read_number_word(const std::string& word, const NumberWord& meaning) {
    switch (meaning.kind) {
      case Kind::kZero:
        value_ = value_ ? value_->followed_by("0") : NumberSoFar::run("0");
        break;
      case Kind::kUnit:
        value_ = with_unit(meaning.digits);
        if (!meaning.suffix.empty()) emit(value_->text() + meaning.suffix);
        break;
      case Kind::kTens:
        value_ = joined(meaning.digits, 2);
        if (!meaning.suffix.empty()) emit(value_->text() + meaning.suffix);
        break;
      case Kind::kMultiplier:
        read_multiplier(meaning);
        break;
      case Kind::kSign:
        end_number();
        if (next().is_number_word() || next_is_numeric()) {
          prefix_ = meaning.symbol;
        } else {
          emit(word);
        }
        break;
      case Kind::kCurrency:
        if (value_) {
          prefix_ = meaning.symbol;
          end_number();
        } else {
          emit(word);
        }
        break;
      case Kind::kPercent:
        read_percent(word);
        break;
      default:
        read_connector(word);
    }
  }

  /// Puts `digits` into the last `num_digits` places if these are zero. Otherwise appends them.
  NumberSoFar joined(const std::string& digits, size_t num_digits) const {
    if (!value_) return NumberSoFar::integer(digits);
    if (value_->is_run() || !value_->is_multiple_of_power(num_digits)) {
      return value_->followed_by(digits);
    }
    return value_->plus_in_zeros(digits);
  }

  NumberSoFar with_unit(const std::string& digits) const {
    if (value_ && (value_->is_run() || is_plain_unit(previous()))) {
      const std::string& text = value_->text();
      if (is_plain_tens(previous()) && digits.size() == 1) {
        return NumberSoFar::run(text.substr(0, text.size() - 1) + digits);
      }
      return NumberSoFar::run(text + digits);
    }
    return joined(digits, digits.size());
  }

  void read_multiplier(const NumberWord& meaning) {
    const NumberSoFar power = NumberSoFar::integer("1" + std::string(meaning.zeros, '0'));
    if (!value_) {
      value_ = power;
    } else if (value_->is_run() || (value_->is_zero() && meaning.suffix.empty())) {
      const std::optional<NumberSoFar> product = value_->times_power(meaning.zeros);
      if (!product) end_number();
      value_ = product ? *product : power;
    } else {
      value_ = value_->scale_below_thousand(meaning.zeros);
    }
    if (!meaning.suffix.empty()) emit(value_->text() + meaning.suffix);
  }

  void read_percent(const std::string& word) {
    const bool per = word == "per";
    if (!value_) {
      emit(word);
    } else if (!per) {
      emit(value_->text() + "%");
    } else if (next_text() == "cent") {
      emit(value_->text() + "%");
      ++at_;
    } else {
      end_number();
      emit(word);
    }
  }

  void read_connector(const std::string& word) {
    if (!next().is_number_word() && !next_is_numeric()) {
      end_number();
      emit(word);
    } else if (word == "and") {
      const bool follows_power = previous().kind == Kind::kMultiplier && previous().suffix.empty();
      if (follows_power) return;
      end_number();
      emit(word);
    } else if (word == "point") {
      if (!is_decimal_word(next()) && !next_is_numeric()) return;
      value_ = value_ ? value_->followed_by(".") : NumberSoFar::run(".");
    } else {
      read_repetition(word);
    }
  }

  /// "double five", "triple oh".
  void read_repetition(const std::string& word) {
    if (!is_plain_unit(next()) && next().kind != Kind::kZero) {
      end_number();
      emit(word);
      return;
    }
    std::string digits = next().digits + next().digits;
    if (word == "triple") digits += next().digits;
    value_ = value_ ? value_->followed_by(digits) : NumberSoFar::run(digits);
    ++at_;
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  std::optional<NumberSoFar> value_;
  std::string prefix_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> rewrite_numbers(const std::vector<std::string>& words) {
  return NumberReader(words).read();
}

}  // namespace s2s
