#pragma once
// Parses expressions of templates by recursive descent.

#include <cstdint>
#include <memory>
#include <utility>

#include "jinja/syntax.h"
#include "jinja/token_reader.h"

namespace s2s::jinja {

/// Source: Jinja2 3.1 parser.py (precedence of operators, and what filters and tests apply to).
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  /// Parses an expression that may end with `if ... else`.
  ExpressionPtr conditional();
  /// Parses an expression without `if ... else`.
  ExpressionPtr plain();
  /// Parses `a, b`. With a comma, it is a tuple. With `with_if`, its items may be conditional.
  ExpressionPtr tuple(bool with_if = true);
  /// Parses a filter after `|`, without its input.
  std::unique_ptr<Filter> filter_head();
  /// Whether the variable `loop` was read since the last call.
  bool take_loop_use() { return std::exchange(has_loop_, false); }
  /// Whether a macro's body reads `varargs` and `kwargs`. Returns what was found since the last
  /// call, and sets what the next call begins with to `found`.
  using MoreUse = std::pair<bool, bool>;
  MoreUse exchange_more_use(MoreUse found) { return std::exchange(more_use_, found); }
  /// Parses arguments in parentheses; the next token is (.
  CallArguments arguments();

 private:
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr number();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filters(ExpressionPtr node);
  ExpressionPtr test(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr list_display();
  ExpressionPtr dict_display();
  bool ends_tuple() const;
  void check_chain(int64_t links);

  TokenReader& tokens_;
  int64_t depth_ = 0;
  int64_t num_links_ = 0;  // in the chains of the outermost expression
  bool has_loop_ = false;
  MoreUse more_use_;
};

}  // namespace s2s::jinja
