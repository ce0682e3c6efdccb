#pragma once
/// @file Regular expressions over UTF-8 with Unicode word boundaries, as Python's `re` has them.
///
/// std::regex recurses for each character: a long text of somebody else's ends the program.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace s2s {

/// A compiled pattern. Thread-safe. Invalid UTF-8 in a text that is searched matches nothing.
class Regex {
 public:
  /// Errors: std::invalid_argument, which says what is wrong and where.
  explicit Regex(std::string_view pattern);

  /// The first match in `text`: all of it, then its groups; a group that takes no part is empty.
  /// Nothing, too, when the search takes too many steps.
  std::optional<std::vector<std::string>> find(std::string_view text) const;
  /// The same, of a match that is the whole text.
  std::optional<std::vector<std::string>> match(std::string_view text) const;
  /// Whether a match begins where `text` does (Python's re.match).
  /// Errors: std::runtime_error when the search takes too many steps.
  bool matches_start(std::string_view text) const;

  /// All matches replaced; `$1` in `replacement` is the first group. `text` is valid UTF-8.
  std::string replace(const std::string& text, std::string_view replacement) const;

 private:
  std::optional<std::vector<std::string>> groups_of(std::string_view text, uint32_t options) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace s2s
