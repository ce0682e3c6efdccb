#pragma once
// Builds the syntax tree from tokens.

#include <string_view>

#include "jinja/syntax.h"

namespace s2s::jinja {

struct Program {
  Body body;
  bool has_generation_blocks = false;
};

/// Errors: TemplateError with the line.
Program parse_template(std::string_view source);

}  // namespace s2s::jinja
