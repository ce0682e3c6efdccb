#pragma once
// Expressions of templates, by recursive descent.

#include <cstdint>
#include <memory>
#include <utility>

#include "jinja/syntax.h"
#include "jinja/token_reader.h"

namespace s2s::jinja {

/// Source: Jinja2 3.1 parser.py (precedence of operators, where filters and tests bind).
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  /// With `if ... else` at its end.
  ExpressionPtr conditional();
  /// Without.
  ExpressionPtr plain();
  /// `a, b`: a tuple when there is a comma. `with_if`: whether its items may be conditional.
  ExpressionPtr tuple(bool with_if = true);
  /// Behind a `|`, without an input.
  std::unique_ptr<Filter> filter_head();
  /// Whether the variable `loop` was read since the last call.
  bool take_loop_use() { return std::exchange(has_loop_, false); }
  /// Whether a macro's body reads `varargs` and `kwargs`: what was found since the last call, which
  /// goes on with `found`.
  using MoreUse = std::pair<bool, bool>;
  MoreUse exchange_more_use(MoreUse found) { return std::exchange(more_use_, found); }
  /// Between ( and ), when ( is next.
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
  int64_t num_links_ = 0;  // of the chains in the outermost expression
  bool has_loop_ = false;
  MoreUse more_use_;
};

}  // namespace s2s::jinja
