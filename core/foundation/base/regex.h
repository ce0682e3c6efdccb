#pragma once
/// @file Regular expressions over UTF-8 with Unicode word boundaries, as in Python's `re`.
///
/// std::regex recurses for each character, so a long untrusted text would end the program.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace s2s {

/// A compiled pattern. Thread-safe. In a searched text, invalid UTF-8 matches nothing.
class Regex {
 public:
  /// Errors: std::invalid_argument with the reason and the position.
  explicit Regex(std::string_view pattern);

  /// Returns the first match in `text`, then its groups; a group that does not take part is empty.
  /// Returns nothing without a match, and also when the search takes too many steps.
  std::optional<std::vector<std::string>> find(std::string_view text) const;
  /// Does the same for a match of the whole text.
  std::optional<std::vector<std::string>> match(std::string_view text) const;
  /// Whether a match begins where `text` does (Python's re.match).
  /// Errors: std::runtime_error when the search takes too many steps.
  bool matches_start(std::string_view text) const;

  /// Replaces all matches; `$1` in `replacement` is the first group. `text` must be valid UTF-8.
  std::string replace(const std::string& text, std::string_view replacement) const;

 private:
  std::optional<std::vector<std::string>> groups_of(std::string_view text, uint32_t options) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace s2s
