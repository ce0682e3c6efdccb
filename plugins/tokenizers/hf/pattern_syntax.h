#pragma once
// Regular expressions of tokenizer.json are Oniguruma's (Ruby syntax, Unicode 16); PCRE2 runs them.

#include <stdexcept>
#include <string>
#include <string_view>

namespace s2s::hf_plugin {

/// Names what a pattern uses and PCRE2 would read differently.
class UnsupportedSyntax : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The pattern in PCRE2's syntax (options UTF, UCP, MULTILINE): `\s`, `\w`, `\h` and properties
/// mean what they mean to Oniguruma, `{n,m}+` repeats instead of being possessive, `(?m:` lets the
/// dot match line ends. Refused: what has no equal form, such as nested classes and `&&`. Errors:
/// UnsupportedSyntax. Source: Oniguruma 6.9 doc/RE, pcre2pattern(3).
std::string to_pcre2(std::string_view pattern);

}  // namespace s2s::hf_plugin
