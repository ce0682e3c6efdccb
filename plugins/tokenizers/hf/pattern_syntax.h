#pragma once
// Translates regular expressions of tokenizer.json (Oniguruma, Ruby syntax, Unicode 16) for PCRE2.

#include <stdexcept>
#include <string>
#include <string_view>

namespace s2s::hf {

/// Names the construct of a pattern that PCRE2 would read differently.
class UnsupportedSyntax : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The pattern in PCRE2's syntax (options UTF, UCP, MULTILINE). `\s`, `\w`, `\h` and properties
/// keep Oniguruma's meaning, `{n,m}+` repeats instead of being possessive, and `(?m:` lets the dot
/// match line ends. Constructs without an equivalent, such as nested classes and `&&`, are refused.
/// Errors: UnsupportedSyntax. Source: Oniguruma 6.9 doc/RE, pcre2pattern(3).
std::string to_pcre2(std::string_view pattern);

}  // namespace s2s::hf
