// Parses Praat's TextGrid in its long and short form. Both have the same numbers and quoted texts;
// the long form has names between them.

#include <cctype>
#include <charconv>

#include "base/utf8_reader.h"
#include "convert/convert_errors.h"
#include "convert/transcript.h"

namespace s2s::convert {
namespace {

constexpr const char* kExpected = "a TextGrid as Praat or the Montreal Forced Aligner writes it";

/// Converts UTF-16 with a byte order mark to UTF-8. Removes the mark of other texts.
std::string as_utf8(const std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) return text.substr(3);
  const bool big = text.starts_with("\xFE\xFF");
  if (!big && !text.starts_with("\xFF\xFE")) return text;
  const auto unit = [&](size_t at) -> uint32_t {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(text[at + 1]);
    return big ? static_cast<uint32_t>(first << 8 | second)
               : static_cast<uint32_t>(second << 8 | first);
  };
  std::string out;
  for (size_t at = 2; at + 1 < text.size(); at += 2) {
    uint32_t code = unit(at);
    if ((code & 0xFC00) == 0xD800 && at + 3 < text.size()) {
      at += 2;
      code = 0x10000 + ((code & 0x3FF) << 10 | (unit(at) & 0x3FF));
    }
    out += utf8_character(code);
  }
  return out;
}

/// Reads numbers and quoted texts one after the other.
class Tokens {
 public:
  Tokens(std::string text, const std::string& path) : text_(as_utf8(text)), path_(path) {}

  double number() {
    skip_to([this] { return is_number(); }, "a number");
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) fail("a number");
    at_ += static_cast<size_t>(result.ptr - begin);
    return value;
  }

  /// Reads a quoted text, in which a doubled quote means a quote.
  std::string text() {
    skip_to([this] { return text_[at_] == '"'; }, "a quoted text");
    std::string value;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && (at_ + 1 == text_.size() || text_[at_ + 1] != '"')) break;
      if (text_[at_] == '"') ++at_;
      value += text_[at_];
    }
    if (at_ == text_.size()) fail("the end of a quoted text");
    ++at_;
    return value;
  }

  size_t count() {
    const double value = number();
    if (value < 0 || value > 1e8 || value != static_cast<double>(static_cast<size_t>(value))) {
      fail("a count");
    }
    return static_cast<size_t>(value);
  }

  [[noreturn]] void fail(const std::string& wanted) const {
    size_t line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    throw convert_errors::transcript(path_ + ":" + std::to_string(line), "here should be " + wanted,
                                     kExpected);
  }

 private:
  /// Whether a number begins here. A digit after a letter is part of a name ("xmin2").
  bool is_number() const {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(c) == 0 && c != '-') return false;
    return at_ == 0 || std::isspace(static_cast<unsigned char>(text_[at_ - 1])) != 0;
  }

  template <class Found>
  void skip_to(Found found, const char* wanted) {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '!') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      if (text_[at_] == '[') at_ = std::min(text_.find(']', at_), text_.size() - 1);
      if (found()) return;
    }
    fail(wanted);
  }

  std::string text_;
  std::string path_;
  size_t at_ = 0;
};

struct Tier {
  std::string name;
  std::vector<Spoken> intervals;
};

/// Whether a text is what aligners write for silence.
bool is_silence(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos || text == "sp" || text == "sil" ||
         text == "<eps>" || text == "spn";
}

Tier read_tier(Tokens& tokens) {
  const bool is_points = tokens.text() == "TextTier";
  Tier tier{tokens.text(), {}};
  tokens.number();
  tokens.number();
  const size_t count = tokens.count();
  for (size_t i = 0; i < count; ++i) {
    const double start_s = tokens.number();
    const double end_s = is_points ? start_s : tokens.number();
    std::string text = tokens.text();
    if (is_points || is_silence(text)) continue;
    tier.intervals.push_back({tier.name, start_s, end_s, std::move(text), {}});
  }
  return tier;
}

/// Whether a tier has words. Finds the speaker: "words" -> "", "anna - words" -> "anna".
bool is_word_tier(const std::string& name, std::string& speaker) {
  if (name == "words" || name == "word") {
    speaker.clear();
    return true;
  }
  constexpr std::string_view kEnd = " - words";
  if (!name.ends_with(kEnd)) return false;
  speaker = name.substr(0, name.size() - kEnd.size());
  return true;
}

bool is_phone_tier(const std::string& name) {
  return name == "phones" || name == "phone" || name.ends_with(" - phones");
}

}  // namespace

std::vector<Spoken> parse_text_grid(const std::string& text, const std::string& path) {
  Tokens tokens(text, path);
  if (tokens.text() != "ooTextFile" || tokens.text() != "TextGrid") {
    tokens.fail("\"ooTextFile\" and \"TextGrid\"");
  }
  tokens.number();
  tokens.number();
  const size_t count = tokens.count();
  std::vector<Spoken> words;
  std::vector<Spoken> stretches;
  for (size_t i = 0; i < count; ++i) {
    const Tier tier = read_tier(tokens);
    std::string speaker;
    const bool is_words = is_word_tier(tier.name, speaker);
    for (const Spoken& part : tier.intervals) {
      if (is_words) words.push_back(spoken_word(speaker, part.text, part.start_s, part.end_s));
    }
    if (is_words || is_phone_tier(tier.name)) continue;
    stretches.insert(stretches.end(), tier.intervals.begin(), tier.intervals.end());
  }
  return words.empty() ? stretches : words;
}

}  // namespace s2s::convert
