#pragma once
// Reads typed fields of JSON objects. All error messages contain the place.

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

using JsonValue = simdjson::dom::element;

/// The position of a line of JSON, for messages.
struct LineLocation {
  std::string_view file;
  int64_t line = 0;
  std::string detail = {};  // "cut 'id'"

  /// Returns "file:line" or "file:line: detail".
  std::string text() const;
};

/// Parses a line of JSON as Python's json does, including NaN, Infinity and -Infinity. The value is
/// valid until the next call in the same thread.
/// Errors: [data/json] with the column.
JsonValue parse_json_line(const std::string& text, const LineLocation& place);

/// Returns the number, which may be NaN or infinite, or nothing if the value is not a number.
std::optional<double> json_number(JsonValue value);
/// The value as JSON text on one line.
std::string json_text(JsonValue value);

/// A JSON object and its name in messages. It refers to its location and its parent.
class JsonFields {
 public:
  /// For a whole line. Errors: [data/field] when `object` is not an object.
  JsonFields(JsonValue object, const LineLocation& place);
  /// `name` is the field of `parent` that contains the object ("recording", "sources[]").
  JsonFields(JsonValue object, const JsonFields& parent, std::string_view name);

  /// Returns the member, or nothing if it is absent or null. If a key is repeated, the last one
  /// counts, as in Python.
  std::optional<JsonValue> find(std::string_view name) const;
  /// Errors: [data/field] when the field is missing or has another type.
  std::string text(std::string_view name) const;
  double number(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::optional<std::string> maybe_text(std::string_view name) const;
  std::optional<double> maybe_number(std::string_view name) const;
  std::optional<int64_t> maybe_integer(std::string_view name) const;
  std::optional<bool> maybe_flag(std::string_view name) const;
  /// Returns an integer or a list of integers; empty if the field is absent.
  std::vector<int64_t> integers(std::string_view name) const;
  /// Returns the items of a list; empty if the field is absent.
  std::vector<JsonValue> list(std::string_view name) const;
  /// Returns the names and values of an object's members; empty if the field is absent.
  std::vector<std::pair<std::string_view, JsonValue>> members(std::string_view name) const;

  std::string place() const { return place_.text(); }
  const LineLocation& location() const { return place_; }
  std::string full_name(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, JsonValue value, const char* expected) const;

 private:
  JsonValue require(std::string_view name, const char* expected) const;

  simdjson::dom::object object_;
  const LineLocation& place_;
  const JsonFields* parent_ = nullptr;
  std::string_view name_;
};

}  // namespace s2s::data
