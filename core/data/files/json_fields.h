#pragma once
// Typed reads of JSON fields with the place in every message.

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

using JsonValue = simdjson::dom::element;

/// Where a line of JSON is, for messages only.
struct LinePlace {
  std::string_view file;
  int64_t line = 0;
  std::string detail = {};  // "cut 'id'"

  /// "file:line" or "file:line: detail".
  std::string text() const;
};

/// A line of JSON, as Python's json reads it: also NaN, Infinity and -Infinity. The value lives
/// until the next call in the same thread.
/// Errors: [data/json] with the column.
JsonValue parse_json_line(const std::string& text, const LinePlace& place);

/// The number, Python's NaN and infinities included; nothing when it is none.
std::optional<double> json_number(JsonValue value);
/// The value as JSON text on one line.
std::string json_text(JsonValue value);

/// A JSON object, and what to call it in messages. It refers to its place and its parent.
class JsonFields {
 public:
  /// The whole line. Errors: [data/field] when `object` is not an object.
  JsonFields(JsonValue object, const LinePlace& place);
  /// `name` is the field of `parent` that holds the object ("recording", "sources[]").
  JsonFields(JsonValue object, const JsonFields& parent, std::string_view name);

  /// The member, or nothing when it is absent or JSON's null. Of a repeated key the last counts, as
  /// in Python.
  std::optional<JsonValue> find(std::string_view name) const;
  /// Errors: [data/field] when it is missing or of another type.
  std::string text(std::string_view name) const;
  double number(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::optional<std::string> maybe_text(std::string_view name) const;
  std::optional<double> maybe_number(std::string_view name) const;
  std::optional<int64_t> maybe_integer(std::string_view name) const;
  std::optional<bool> maybe_flag(std::string_view name) const;
  /// One integer, or a list of them; empty when absent.
  std::vector<int64_t> integers(std::string_view name) const;
  /// Items of a list; empty when absent.
  std::vector<JsonValue> list(std::string_view name) const;
  /// Names and values of an object's members; empty when absent.
  std::vector<std::pair<std::string_view, JsonValue>> members(std::string_view name) const;

  std::string place() const { return place_.text(); }
  const LinePlace& line_place() const { return place_; }
  std::string full_name(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, JsonValue value, const char* expected) const;

 private:
  JsonValue require(std::string_view name, const char* expected) const;

  simdjson::dom::object object_;
  const LinePlace& place_;
  const JsonFields* parent_ = nullptr;
  std::string_view name_;
};

}  // namespace s2s::data
