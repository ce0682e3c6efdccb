#pragma once
// What splits and replaces text: a literal, or a regular expression.

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

namespace s2s::hf_plugin {

/// Bytes [begin, end) of a text; `matched`: the pattern is there.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool matched = false;
};

/// What matching needs and threads do not share, and how far the text of a call may grow.
class MatchState {
 public:
  MatchState();
  /// A call begins on a text of so many bytes. What the steps of a file make of it may have 64
  /// times as many, and 1 KiB; files that replace again and again would fill the memory.
  void begin(size_t num_bytes);
  /// Errors: [tokenizer/text-growth] when `num_bytes` is more than that.
  void check(size_t num_bytes) const;

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
};

class Pattern {
 public:
  /// Matches `text` itself; not empty.
  static Pattern literal(std::string text);
  /// A pattern of tokenizer.json. Errors: UnsupportedSyntax, also for what PCRE2 refuses.
  static Pattern regex(std::string_view pattern);

  /// Cuts `text` (valid UTF-8) into matches and what lies between them; `out` is replaced. An empty
  /// match right behind another match is none.
  /// Errors: [tokenizer/pattern-limit] when a match takes too many steps, or too much memory.
  /// Source: the match iterators of the Rust crates regex and onig.
  void split(std::string_view text, MatchState& state, std::vector<Span>& out) const;

 private:
  Pattern() = default;
  std::optional<Span> search(std::string_view text, size_t from, MatchState& state) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string source_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;  // none: a literal
  bool jit_ = false;
};

}  // namespace s2s::hf_plugin
