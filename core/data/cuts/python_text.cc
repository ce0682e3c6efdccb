#include "cuts/python_text.h"

#include "files/json_fields.h"
#include "files/json_text.h"

namespace s2s::data {
namespace {

using JsonType = simdjson::dom::element_type;

/// Python's repr of a string; letters beyond ASCII as they are.
std::string quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char mark = has_single && !has_double ? '"' : '\'';
  std::string result(1, mark);
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else {
      if (c == mark || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + mark;
}

std::string repr(JsonValue value);

std::string number_text(JsonValue value) {
  int64_t integer = 0;
  if (value.type() != JsonType::DOUBLE && value.get(integer) == simdjson::SUCCESS) {
    return std::to_string(integer);
  }
  if (value.type() == JsonType::UINT64) return json_text(value);
  return python_number(*json_number(value));
}

std::string list_text(simdjson::dom::array items) {
  std::string text = "[";
  for (const JsonValue item : items) text += (text.size() > 1 ? ", " : "") + repr(item);
  return text + "]";
}

std::string dict_text(simdjson::dom::object members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    text += (text.size() > 1 ? ", " : "") + quoted(name) + ": " + repr(value);
  }
  return text + "}";
}

std::string repr(JsonValue value) {
  bool flag = false;
  switch (value.type()) {
    case JsonType::NULL_VALUE:
      return "None";
    case JsonType::BOOL:
      return value.get(flag) == simdjson::SUCCESS && flag ? "True" : "False";
    case JsonType::ARRAY:
      return list_text(value);
    case JsonType::OBJECT:
      return dict_text(value);
    case JsonType::STRING:
      if (!json_number(value)) return quoted(std::string_view(value));
      return number_text(value);
    default:
      return number_text(value);
  }
}

}  // namespace

std::string python_text(const JsonText& json) {
  const JsonValue value = parse_json_line(json.text, {"a custom field", 1});
  std::string_view text;
  const bool is_string = value.get(text) == simdjson::SUCCESS && !json_number(value);
  return is_string ? std::string(text) : repr(value);
}

JsonText json_of_text(const std::string& text) {
  JsonText json;
  append_json_string(json.text, text);
  return json;
}

}  // namespace s2s::data
