#include "jinja/token_reader.h"

#include <algorithm>

#include "jinja/template_error.h"

namespace s2s::jinja {
namespace {

std::string text_of_token(const Token& token) {
  switch (token.kind) {
    case Token::kData:
      return "text";
    case Token::kBlockBegin:
      return "'{%'";
    case Token::kBlockEnd:
      return "'%}'";
    case Token::kVariableBegin:
      return "'{{'";
    case Token::kVariableEnd:
      return "'}}'";
    case Token::kEnd:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

const Token& TokenReader::peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenReader::take() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenReader::skip_operator(std::string_view sign) {
  const bool found = is_operator(sign);
  if (found) take();
  return found;
}

bool TokenReader::skip_name(std::string_view name) {
  const bool found = is_name(name);
  if (found) take();
  return found;
}

void TokenReader::expect_operator(std::string_view sign) {
  if (!skip_operator(sign)) unexpected("'" + std::string(sign) + "'");
}

void TokenReader::expect_name(std::string_view name) {
  if (!skip_name(name)) unexpected("'" + std::string(name) + "'");
}

void TokenReader::expect(Token::Kind kind) {
  if (peek().kind != kind) unexpected(text_of_token(Token{kind, "", 0, 0}));
  take();
}

std::string TokenReader::expect_any_name() {
  if (peek().kind != Token::kName) unexpected("a name");
  return take().text;
}

void TokenReader::unexpected(const std::string& expected) const {
  throw TemplateError("unexpected " + text_of_token(peek()) + ", expected " + expected, peek().line,
                      peek().column);
}

}  // namespace s2s::jinja
