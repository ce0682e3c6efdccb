#pragma once
// Scans a JSON text character by character and finds what is outside of its strings.

namespace s2s {

/// The text may be damaged, or not be JSON at all.
class JsonScan {
 public:
  /// Takes the next character. Returns false if it belongs to a string, including the quotes.
  bool take(char c) {
    if (!in_string_) {
      in_string_ = c == '"';
      return !in_string_;
    }
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else {
      in_string_ = c != '"';
    }
    return false;
  }
  /// Whether the characters so far end inside a string.
  bool in_string() const { return in_string_; }

 private:
  bool in_string_ = false, is_escaped_ = false;
};

}  // namespace s2s
