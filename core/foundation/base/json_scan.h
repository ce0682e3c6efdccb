#pragma once
// What of a JSON text stands outside of its strings, character by character.

namespace s2s {

/// The text may be broken, or no JSON at all.
class JsonScan {
 public:
  /// Takes the next character. False for one that belongs to a string, the quotes included.
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
  /// After the characters so far.
  bool in_string() const { return in_string_; }

 private:
  bool in_string_ = false, is_escaped_ = false;
};

}  // namespace s2s
