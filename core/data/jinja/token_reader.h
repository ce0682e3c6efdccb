#pragma once
// Reads tokens one by one.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/lexer.h"

namespace s2s::jinja {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(size_t ahead = 0) const;
  Token take();
  bool is_operator(std::string_view sign) const { return peek().is_operator(sign); }
  bool is_name(std::string_view name) const { return peek().is_name(name); }
  /// Removes the operator if it is next.
  bool skip_operator(std::string_view sign);
  bool skip_name(std::string_view name);
  /// Errors: TemplateError when another token is next.
  void expect_operator(std::string_view sign);
  void expect_name(std::string_view name);
  void expect(Token::Kind kind);
  std::string expect_any_name();
  [[noreturn]] void unexpected(const std::string& expected) const;

 private:
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

}  // namespace s2s::jinja
