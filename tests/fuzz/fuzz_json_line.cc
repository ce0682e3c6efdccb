// Any bytes as a line of JSON as Python reads it, NaN and infinities included: refused with a
// message, or a value whose text is read again as the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuts/cut_json.h"
#include "files/json_fields.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::data;
  const std::string line(reinterpret_cast<const char*>(data), size);
  const LineLocation place{"fuzz", 1};
  try {
    const std::string text = json_text(parse_json_line(line, place));
    if (json_text(parse_json_line(text, place)) != text) __builtin_trap();
    const JsonFields fields(parse_json_line(line, place), place);
    fields.find("id");
    fields.maybe_number("duration");
    Leniencies leniencies;
    parse_custom(fields, leniencies);
    parse_transforms(fields);
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
