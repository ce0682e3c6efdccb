#pragma once
// Splits a template's source into tokens.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::jinja {

struct Token {
  enum Kind {
    kData,           // text between tags
    kBlockBegin,     // {%
    kBlockEnd,       // %}
    kVariableBegin,  // {{
    kVariableEnd,    // }}
    kName,
    kString,  // its value
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };
  Kind kind = kEnd;
  std::string text;
  int64_t line = 1;
  int64_t column = 1;  // in characters; of the tag's begin for kBlockBegin and kVariableBegin

  bool is_operator(std::string_view sign) const { return kind == kOperator && text == sign; }
  bool is_name(std::string_view name) const { return kind == kName && text == name; }
};

/// The last token is kEnd. White space around tags is treated as by trim_blocks and lstrip_blocks.
/// Errors: TemplateError.
/// Source: Jinja2 3.1 lexer.py.
std::vector<Token> tokenize(std::string_view source);

}  // namespace s2s::jinja
