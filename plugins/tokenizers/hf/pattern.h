#pragma once
// Patterns that split and replace text: a literal or a regular expression.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace s2s::hf {

/// Bytes [begin, end) of a text. `matched`: the pattern matches here.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool matched = false;
};

/// The state of matching, one per thread, and the limits of a call: the size of its text, and the
/// processor time, which some patterns (`a*[bc]`) take in proportion to the square of a text.
class MatchState {
 public:
  MatchState();
  /// Starts a call on a text of `num_bytes` bytes. The steps of a file may turn it into at most 64
  /// times as many bytes plus 1 KiB. Without a limit, files with repeated replacements could use up
  /// the memory.
  void begin(size_t num_bytes);
  /// Errors: [tokenizer/text-growth] if `num_bytes` exceeds this limit.
  void check(size_t num_bytes) const;
  /// False once the call has taken more than a second and 4 us for each byte of its text. To be
  /// asked after a search that began at `num_starts` places of a text of `num_bytes` bytes; it
  /// looks at the clock now and then.
  bool has_time(size_t num_starts, size_t num_bytes);

 private:
  friend class Pattern;
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_jit_stack_8* stack) const;
  };
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_jit_stack_8, Free> stack_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  size_t given_bytes_ = 0;
  size_t since_clock_ = 0;   // work since the clock was asked
  double started_s_ = -1.0;  // of the thread's processor time; below 0: the clock was not asked yet
};

class Pattern {
 public:
  /// Matches the string `text`, which must not be empty.
  static Pattern literal(std::string text);
  /// A pattern of tokenizer.json. Errors: UnsupportedSyntax, also if PCRE2 refuses the pattern.
  static Pattern regex(std::string_view pattern);

  /// Splits `text` (valid UTF-8) into matches and the parts between them. `out` is cleared first.
  /// An empty match directly after another match does not count.
  /// Errors: [tokenizer/pattern-limit] if a match takes too many steps or too much memory.
  /// Source: the match iterators of the Rust crates regex and onig.
  void split(std::string_view text, MatchState& state, std::vector<Span>& out) const;

 private:
  Pattern() = default;
  std::optional<Span> search(std::string_view text, size_t from, MatchState& state) const;
  [[noreturn]] void fail_at_limit(std::string_view text) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string source_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;  // null for a literal
  bool jit_ = false;
};

}  // namespace s2s::hf
