#include "jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/string_literal.h"
#include "jinja/template_error.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f\v";
/// Longer operators come first.
constexpr std::array<std::string_view, 25> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

std::string with_unix_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool ends_pair = source[i] == '\n' && i > 0 && source[i - 1] == '\r';
    if (!ends_pair) text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_unix_lines(source)) {}

  std::vector<Token> run() {
    while (position_ < source_.size()) read_data();
    add(Token::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(position_); }
  bool is_next(std::string_view text) const { return rest().starts_with(text); }
  char sign_at(size_t place) const { return place < source_.size() ? source_[place] : '\0'; }
  void add(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_, column_});
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw TemplateError(reason, line_, column_);
  }

  void advance(size_t num_bytes) {
    const std::string_view passed = rest().substr(0, num_bytes);
    line_ += std::count(passed.begin(), passed.end(), '\n');
    const size_t newline = passed.rfind('\n');
    if (newline != std::string_view::npos) column_ = 1;
    column_ += static_cast<int64_t>(num_characters(passed.substr(newline + 1)));  // npos + 1 is 0
    position_ += passed.size();
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
  }

  void skip_space() { advance(leading_space(rest())); }

  /// Reads text up to the next tag, and the tag.
  void read_data() {
    size_t begin = position_;
    for (; begin < source_.size(); ++begin) {
      const char second = sign_at(begin + 1);
      if (source_[begin] == '{' && (second == '{' || second == '%' || second == '#')) break;
    }
    const bool has_tag = begin < source_.size();
    const char tag = has_tag ? source_[begin + 1] : '\0';
    const char sign = has_tag ? sign_at(begin + 2) : '\0';
    const std::string_view data = rest().substr(0, begin - position_);
    add_data(has_tag ? stripped(data, tag, sign) : data);
    advance(data.size());
    if (!has_tag) return;
    tag_column_ = column_;
    advance(sign == '-' || sign == '+' ? 3 : 2);
    if (tag == '#') return skip_comment();
    if (tag == '%' && read_raw()) return;
    read_code(tag == '{' ? Token::kVariableBegin : Token::kBlockBegin);
  }

  void add_data(std::string_view data) {
    if (!data.empty()) add(Token::kData, std::string(data));
  }

  /// Returns the text before a tag without what the tag strips. `-` strips all white space. A block
  /// or comment at the begin of its line strips the white space before it, unless its sign is `+`.
  std::string_view stripped(std::string_view data, char tag, char sign) const {
    if (sign == '-') return trimmed_right(data);
    if (sign == '+' || tag == '{') return data;
    const size_t newline = data.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_starting_) return data;
    const bool is_blank = leading_space(data.substr(line)) == data.size() - line;
    return is_blank ? data.substr(0, line) : data;
  }

  /// Called after the end of a block or comment: `-` strips white space, otherwise a newline is
  /// removed.
  void skip_after(char sign) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && is_next("\n")) {
      advance(1);
    }
  }

  void skip_comment() {
    const size_t end = rest().find("#}");
    if (end == std::string_view::npos) fail("a comment has no end; missing '#}'");
    const char sign = end > 0 ? rest()[end - 1] : '\0';
    advance(end + 2);
    skip_after(sign);
  }

  /// Matches `NAME` and the tag's end at `place`, which is after `{%` and its sign. Returns the
  /// position after the tag, or 0 if it is another tag. `sign` is set to the sign before the end.
  size_t match_word_tag(size_t place, std::string_view name, char& sign) const {
    const std::string_view text(source_);
    place = std::min(text.find_first_not_of(kSpace, place), text.size());
    if (!text.substr(place).starts_with(name)) return 0;
    place = text.find_first_not_of(kSpace, place + name.size());
    if (place == std::string_view::npos) return 0;
    sign = text[place];
    if (sign == '-' || sign == '+') ++place;
    return text.substr(place).starts_with("%}") ? place + 2 : 0;
  }

  bool read_raw() {
    char sign = '\0';
    const size_t after = match_word_tag(position_, "raw", sign);
    if (after == 0) return false;
    advance(after - position_);
    if (sign == '-') skip_space();
    for (size_t tag = source_.find("{%", position_); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      const char first = sign_at(tag + 2);
      const size_t begin = first == '-' || first == '+' ? tag + 3 : tag + 2;
      const size_t end = match_word_tag(begin, "endraw", sign);
      if (end == 0) continue;
      add_data(stripped(rest().substr(0, tag - position_), '%', first));
      advance(end - position_);
      skip_after(sign);
      return true;
    }
    fail("a raw block has no end; missing '{% endraw %}'");
  }

  /// Returns true if the tag ends here.
  bool read_end(Token::Kind begin) {
    const std::string_view end = begin == Token::kVariableBegin ? "}}" : "%}";
    char sign = rest().empty() ? '\0' : rest()[0];
    if (sign != '-' && !(sign == '+' && begin == Token::kBlockBegin)) sign = '\0';
    const size_t skip = sign == '\0' ? 0 : 1;
    if (!rest().substr(std::min(skip, rest().size())).starts_with(end)) return false;
    const bool is_variable = begin == Token::kVariableBegin;
    add(is_variable ? Token::kVariableEnd : Token::kBlockEnd, "");
    advance(skip + 2);
    if (!is_variable) {
      skip_after(sign);
    } else if (sign == '-') {
      skip_space();
    }
    return true;
  }

  void read_code(Token::Kind begin) {
    add(begin, "");
    tokens_.back().column = tag_column_;
    const int64_t first_line = line_;
    std::string open;
    for (;;) {
      skip_space();
      if (position_ >= source_.size())
        throw TemplateError("a tag has no end", first_line, tag_column_);
      if (open.empty() && read_end(begin)) return;
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = source_[position_];
    if (c == '"' || c == '\'') return read_string();
    if (is_digit(c)) return read_number();
    if (is_name_start(c)) {
      size_t end = position_;
      while (end < source_.size() && is_name_part(source_[end])) ++end;
      const size_t size = end - position_;
      add(Token::kName, source_.substr(position_, size));
      return advance(size);
    }
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](std::string_view sign) { return is_next(sign); });
    if (found == kOperators.end()) fail(fmt::format("unexpected character '{}'", c));
    balance(*found, open);
    add(Token::kOperator, std::string(*found));
    advance(found->size());
  }

  void balance(std::string_view sign, std::string& open) const {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (sign.size() != 1) return;
    if (const size_t kind = kOpen.find(sign[0]); kind != std::string_view::npos) {
      open += kClose[kind];
    } else if (kClose.find(sign[0]) != std::string_view::npos) {
      if (open.empty() || open.back() != sign[0]) fail(fmt::format("unexpected '{}'", sign));
      open.pop_back();
    }
  }

  void read_string() {
    const char quote = source_[position_];
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string has no end");
    const std::string inside = source_.substr(position_ + 1, end - position_ - 1);
    add(Token::kString, unescape(inside, line_));
    advance(end + 1 - position_);
  }

  void read_number() {
    size_t end = position_;
    bool is_float = false;
    const auto digits = [&] {
      while (is_digit(sign_at(end)) || (sign_at(end) == '_' && is_digit(sign_at(end + 1)))) ++end;
    };
    digits();
    if (sign_at(end) == '.' && is_digit(sign_at(end + 1))) {
      is_float = true;
      ++end;
      digits();
    }
    const char sign = sign_at(end + 1);
    const size_t exponent = sign == '+' || sign == '-' ? end + 2 : end + 1;
    if ((sign_at(end) | 0x20) == 'e' && is_digit(sign_at(exponent))) {
      is_float = true;
      end = exponent;
      digits();
    }
    std::string text = source_.substr(position_, end - position_);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    add(is_float ? Token::kFloat : Token::kInteger, std::move(text));
    advance(end - position_);
  }

  std::string source_;
  size_t position_ = 0;
  int64_t line_ = 1;
  int64_t column_ = 1;
  int64_t tag_column_ = 1;  // column of the tag's `{`
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  // Tokens and the tree take about fifty times as much memory. The longest known template has 20
  // KB.
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (source.size() > kMostBytes) throw TemplateError("the template is longer than 1 MiB");
  return Lexer(source).run();
}

}  // namespace s2s::jinja
