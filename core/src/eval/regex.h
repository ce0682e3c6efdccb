#pragma once
// Regular expressions over UTF-8 with Unicode word boundaries.

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace s2s {

/// A compiled pattern of the program's own (a pattern that does not compile is a bug).
class Regex {
 public:
  explicit Regex(std::string_view pattern);

  /// All matches replaced; `$1` in `replacement` is the first group. `text` is valid UTF-8.
  std::string replace(const std::string& text, std::string_view replacement) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace s2s
