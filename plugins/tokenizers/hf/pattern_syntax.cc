#include "pattern_syntax.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "unicode.h"
#include "unicode_tables.h"

namespace s2s::hf {
namespace {

/// Ranges of characters that got a category after the Unicode version of PCRE2's tables. One
/// letter: a group of categories.
std::string newer_ranges(std::string_view category) {
  std::string out;
  for (const CategoryRange& range : kNewerCategories) {
    if (std::string_view(range.category).substr(0, category.size()) != category) continue;
    char text[40];
    std::snprintf(text, sizeof(text), "\\x{%x}-\\x{%x}", static_cast<unsigned>(range.first),
                  static_cast<unsigned>(range.last));
    out += text;
  }
  return out;
}

bool is_category(std::string_view name) {
  static constexpr std::string_view kGroups = "LMNPSZC";
  return (name.size() == 1 || name.size() == 2) && kGroups.find(name[0]) != kGroups.npos;
}

const std::string& word_class() {
  static const std::string text = "\\p{Alphabetic}\\p{M}\\p{N}\\p{Pc}" + newer_ranges("L") +
                                  newer_ranges("M") + newer_ranges("N") + newer_ranges("Pc");
  return text;
}

/// Reads a pattern once and writes it in PCRE2's syntax.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    while (at_ < in_.size()) step();
    return out_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw UnsupportedSyntax(what); }
  bool ahead(std::string_view text) const { return in_.substr(at_, text.size()) == text; }

  void step() {
    const char c = in_[at_];
    if (c == '\\') {
      begin_atom();
      escape(/*in_class=*/false);
    } else if (c == '[') {
      begin_atom();
      character_class();
    } else if (c == '(') {
      open_group();
    } else if (c == ')') {
      close_group();
    } else if (c == '{') {
      interval();
    } else {
      if (c != '*' && c != '+' && c != '?' && c != '|') begin_atom();
      copy_character();
    }
  }

  void begin_atom() { atom_ = out_.size(); }

  void copy_character() {
    const size_t size = code_point_at(in_, at_).size;
    out_ += in_.substr(at_, size);
    at_ += size;
  }

  void open_group() {
    groups_.push_back(out_.size());
    if (ahead("(?~")) refuse("the absent operator (?~");
    if (ahead("(*")) refuse("a callout (*");
    if (!ahead("(?") || ahead("(?<") || ahead("(?:") || ahead("(?=") || ahead("(?!") ||
        ahead("(?>")) {
      out_ += in_[at_++];
      if (ahead("?")) {
        out_ += in_[at_++];
        copy_character();
      }
      return;
    }
    if (ahead("(?#")) refuse("a comment (?#");
    group_options();
  }

  /// `(?i:...)`, or `(?i)` at the start of the whole pattern, where Oniguruma and PCRE2 agree.
  void group_options() {
    const bool at_start = at_ == 0;
    at_ += 2;
    out_ += "(?";
    while (at_ < in_.size() && in_[at_] != ':' && in_[at_] != ')') {
      const char option = in_[at_++];
      if (option != 'i' && option != 'm' && option != 'x' && option != '-') {
        refuse("the group (?" + std::string(in_.substr(at_ - 1, code_point_at(in_, at_ - 1).size)));
      }
      out_ += option == 'm' ? 's' : option;
    }
    if (at_ >= in_.size()) refuse("a group that does not end");
    if (in_[at_] == ')') {
      if (!at_start) refuse("options without a group, (?i)");
      groups_.pop_back();
    }
    out_ += in_[at_++];
  }

  void close_group() {
    if (groups_.empty()) refuse("a ')' without its '('");
    atom_ = groups_.back();
    groups_.pop_back();
    out_ += in_[at_++];
  }

  /// Oniguruma reads `a{2,3}+` as `(?:a{2,3})+` and `{,n}` as `{0,n}`. A `{` that starts no
  /// interval is a literal.
  void interval() {
    const size_t end = in_.find('}', at_);
    const std::string_view inside = end == in_.npos ? "" : in_.substr(at_ + 1, end - at_ - 1);
    const bool is_interval = !inside.empty() && inside != "," &&
                             std::count(inside.begin(), inside.end(), ',') <= 1 &&
                             std::all_of(inside.begin(), inside.end(),
                                         [](char c) { return c == ',' || (c >= '0' && c <= '9'); });
    if (!is_interval) {
      begin_atom();
      out_ += "\\{";
      ++at_;
      return;
    }
    out_ += inside.front() == ',' ? "{0" : "{";
    out_ += inside;
    out_ += '}';
    at_ = end + 1;
    if (ahead("+")) {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  void escape(bool in_class) {
    if (at_ + 1 >= in_.size()) refuse("a '\\' at its end");
    const char c = in_[at_ + 1];
    switch (c) {
      case 's':
        return put("\\p{White_Space}");
      case 'S':
        return put("\\P{White_Space}");
      case 'w':
        return put(in_class ? word_class() : "[" + word_class() + "]");
      case 'W':
        if (in_class) refuse("\\W inside a class");
        return put("[^" + word_class() + "]");
      case 'd':
        return put(in_class ? "\\p{Nd}" + newer_ranges("Nd")
                            : "[\\p{Nd}" + newer_ranges("Nd") + "]");
      case 'D':
        if (in_class) refuse("\\D inside a class");
        return put("[^\\p{Nd}" + newer_ranges("Nd") + "]");
      case 'h':
        return put(in_class ? "0-9a-fA-F" : "[0-9a-fA-F]");
      case 'b':
        return put(in_class ? "\\x08" : word_boundary(/*inside=*/true));
      case 'B':
        return put(word_boundary(/*inside=*/false));
      case 'p':
      case 'P':
        return property(in_class);
      default:
        return plain_escape(c);
    }
  }

  void put(const std::string& text) {
    out_ += text;
    at_ += 2;
  }

  static std::string word_boundary(bool inside) {
    const std::string w = "[" + word_class() + "]";
    const char* second = inside ? "!" : "=";
    const char* third = inside ? "=" : "!";
    return "(?:(?<=" + w + ")(?" + second + w + ")|(?<!" + w + ")(?" + third + w + "))";
  }

  void plain_escape(char c) {
    static constexpr std::string_view kSame = "tnrfaevxRAzZ0123456789";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && kSame.find(c) == kSame.npos) refuse(std::string("the escape \\") + c);
    if (c == 'v') return put("\\x0b");  // PCRE2's \v is any vertical white space
    if (c == 'x' && in_.substr(at_ + 2, 1) == "{") {
      const size_t end = in_.find('}', at_);
      if (end == in_.npos) refuse("\\x{ without }");
      out_ += in_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      return;
    }
    out_ += in_[at_++];
    copy_character();
  }

  void property(bool in_class) {
    const size_t end = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || end == in_.npos) refuse("\\p without {}");
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    bool negated = in_[at_ + 1] == 'P';
    if (!name.empty() && name[0] == '^') {
      negated = !negated;
      name.remove_prefix(1);
    }
    at_ = end + 1;
    if (!is_category(name)) {
      // For a script, PCRE2 would also match the script extensions.
      static constexpr std::string_view kScripts[] = {
          "Han",      "Hiragana", "Katakana", "Hangul", "Latin",    "Greek",
          "Cyrillic", "Arabic",   "Hebrew",   "Thai",   "Bopomofo", "Devanagari"};
      const bool script =
          std::find(std::begin(kScripts), std::end(kScripts), name) != std::end(kScripts);
      if (!script) refuse("the property \\p{" + std::string(name) + "}");
      out_ += std::string(negated ? "\\P{sc:" : "\\p{sc:") + std::string(name) + "}";
      return;
    }
    const std::string newer = newer_ranges(name);
    const std::string plain = std::string("\\p{") + std::string(name) + "}";
    if (newer.empty()) {
      out_ += (negated ? "\\P" : "\\p") + plain.substr(2);
    } else if (!in_class) {
      out_ += (negated ? "[^" : "[") + plain + newer + "]";
    } else if (negated) {
      refuse("\\P{" + std::string(name) + "} inside a class");
    } else {
      out_ += plain + newer;
    }
  }

  void character_class() {
    out_ += in_[at_++];
    if (ahead("^")) out_ += in_[at_++];
    bool first = true;
    while (at_ < in_.size() && (first || in_[at_] != ']')) {
      if (in_[at_] == '[') refuse(ahead("[:") ? "a POSIX class [:" : "a class inside a class");
      if (ahead("&&")) refuse("the intersection && of classes");
      if (in_[at_] == '\\') {
        escape(/*in_class=*/true);
      } else {
        copy_character();
      }
      first = false;
    }
    if (at_ >= in_.size()) refuse("a class that does not end");
    out_ += in_[at_++];
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  size_t atom_ = 0;             // start of the last repeatable part in out_
  std::vector<size_t> groups_;  // starts of the open groups
};

}  // namespace

std::string to_pcre2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace s2s::hf
