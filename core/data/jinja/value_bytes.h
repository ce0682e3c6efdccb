#pragma once
// Values and marked texts as bytes, for templates that are rendered in a parser process.

#include "base/byte_codec.h"
#include "jinja/value.h"

namespace s2s::jinja {

void write_text(const MarkedText& text, ByteWriter& to);
/// Errors: std::runtime_error.
MarkedText read_text(ByteReader& from);

/// Writes data only. A function or a namespace has no bytes.
void write_value(const Value& value, ByteWriter& to);
/// Errors: std::runtime_error; TemplateError for a value that is too deep or too large.
Value read_value(ByteReader& from);

}  // namespace s2s::jinja
