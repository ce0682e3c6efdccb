#include "files/json_fields.h"

#include <cmath>
#include <utility>

#include "files/files_errors.h"

namespace s2s::data {
namespace {

constexpr const char* kWholeNumbers = "a whole number or a list of them";

std::string shown(JsonValue value) {
  std::string text = json_text(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "array " + text;
    case simdjson::dom::element_type::OBJECT:
      return "object " + text;
    case simdjson::dom::element_type::STRING:
      return "string " + text;
    case simdjson::dom::element_type::BOOL:
      return "boolean " + text;
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "number " + text;
  }
}

std::optional<int64_t> whole(JsonValue value) {
  int64_t integer = 0;
  if (value.get(integer) == simdjson::SUCCESS) return integer;
  const std::optional<double> number = json_number(value);
  if (!number || std::fabs(*number) >= 9e15 || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

std::string LineLocation::text() const {
  std::string text = std::string(file) + ":" + std::to_string(line);
  if (!detail.empty()) text += ": " + detail;
  return text;
}

JsonFields::JsonFields(JsonValue object, const LineLocation& place) : place_(place) {
  if (object.get(object_) == simdjson::SUCCESS) return;
  throw files_errors::field(place_.text(), "the line", shown(object), "an object");
}

JsonFields::JsonFields(JsonValue object, const JsonFields& parent, std::string_view name)
    : place_(parent.place_), parent_(&parent), name_(name) {
  if (object.get(object_) == simdjson::SUCCESS) return;
  throw files_errors::field(place_.text(), parent.full_name(name), shown(object), "an object");
}

std::string JsonFields::full_name(std::string_view name) const {
  return parent_ == nullptr ? std::string(name)
                            : parent_->full_name(name_) + "." + std::string(name);
}

std::optional<JsonValue> JsonFields::find(std::string_view name) const {
  std::optional<JsonValue> found;
  for (const auto& [key, value] : object_) {
    if (key == name) found = value;
  }
  return found && !found->is_null() ? found : std::nullopt;
}

void JsonFields::fail(std::string_view name, JsonValue value, const char* expected) const {
  throw files_errors::field(place(), full_name(name), shown(value), expected);
}

JsonValue JsonFields::require(std::string_view name, const char* expected) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) throw files_errors::field(place(), full_name(name), "missing", expected);
  return *value;
}

std::string JsonFields::text(std::string_view name) const {
  const JsonValue value = require(name, "a string");
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) fail(name, value, "a string");
  return std::string(text);
}

double JsonFields::number(std::string_view name) const {
  const JsonValue value = require(name, "a number");
  const std::optional<double> number = json_number(value);
  if (!number) fail(name, value, "a number");
  return *number;
}

int64_t JsonFields::integer(std::string_view name) const {
  const JsonValue value = require(name, "a whole number");
  const std::optional<int64_t> integer = whole(value);
  if (!integer) fail(name, value, "a whole number");
  return *integer;
}

std::optional<std::string> JsonFields::maybe_text(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return std::nullopt;
  std::string_view text;
  if (value->get(text) != simdjson::SUCCESS) fail(name, *value, "a string");
  return std::string(text);
}

std::optional<double> JsonFields::maybe_number(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return std::nullopt;
  const std::optional<double> number = json_number(*value);
  if (!number) fail(name, *value, "a number");
  return number;
}

std::optional<int64_t> JsonFields::maybe_integer(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return std::nullopt;
  const std::optional<int64_t> integer = whole(*value);
  if (!integer) fail(name, *value, "a whole number");
  return integer;
}

std::optional<bool> JsonFields::maybe_flag(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return std::nullopt;
  bool flag = false;
  if (value->get(flag) != simdjson::SUCCESS) fail(name, *value, "true or false");
  return flag;
}

std::vector<int64_t> JsonFields::integers(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return {};
  simdjson::dom::array items;
  if (value->get(items) != simdjson::SUCCESS) {
    const std::optional<int64_t> integer = whole(*value);
    if (!integer) fail(name, *value, kWholeNumbers);
    return {*integer};
  }
  std::vector<int64_t> result;
  for (const JsonValue item : items) {
    const std::optional<int64_t> integer = whole(item);
    if (!integer) fail(name, *value, kWholeNumbers);
    result.push_back(*integer);
  }
  return result;
}

std::vector<JsonValue> JsonFields::list(std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return {};
  simdjson::dom::array items;
  if (value->get(items) != simdjson::SUCCESS) fail(name, *value, "a list");
  return {items.begin(), items.end()};
}

std::vector<std::pair<std::string_view, JsonValue>> JsonFields::members(
    std::string_view name) const {
  const std::optional<JsonValue> value = find(name);
  if (!value) return {};
  simdjson::dom::object object;
  if (value->get(object) != simdjson::SUCCESS) fail(name, *value, "an object");
  std::vector<std::pair<std::string_view, JsonValue>> members;
  for (const auto& [key, member] : object) members.emplace_back(key, member);
  return members;
}

}  // namespace s2s::data
