#include "data/json_fields.h"

#include <cmath>
#include <utility>

#include "data/data_errors.h"

namespace s2s::data {
namespace {

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return std::string(value.type_name()) + " " + text;
}

bool is_whole(const nlohmann::json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number() && std::fabs(value.get<double>()) < 9e15 &&
         value.get<double>() == std::floor(value.get<double>());
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string place, std::string prefix)
    : object_(object), place_(std::move(place)), prefix_(std::move(prefix)) {
  if (object_.is_object()) return;
  const std::string name = prefix_.empty() ? "the line" : prefix_.substr(0, prefix_.size() - 1);
  throw data_errors::field(place_, name, shown(object_), "an object");
}

const nlohmann::json* JsonFields::find(const char* name) const {
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void JsonFields::fail(const char* name, const nlohmann::json& value, const char* expected) const {
  throw data_errors::field(place_, prefix_ + name, shown(value), expected);
}

const nlohmann::json& JsonFields::require(const char* name, const char* expected) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) throw data_errors::field(place_, prefix_ + name, "missing", expected);
  return *value;
}

std::string JsonFields::text(const char* name) const {
  require(name, "a string");
  return *maybe_text(name);
}

double JsonFields::number(const char* name) const {
  require(name, "a number");
  return *maybe_number(name);
}

int64_t JsonFields::integer(const char* name) const {
  require(name, "a whole number");
  return *maybe_integer(name);
}

std::optional<std::string> JsonFields::maybe_text(const char* name) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(name, *value, "a string");
  return value->get<std::string>();
}

std::optional<double> JsonFields::maybe_number(const char* name) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(name, *value, "a number");
  return value->get<double>();
}

std::optional<int64_t> JsonFields::maybe_integer(const char* name) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!is_whole(*value)) fail(name, *value, "a whole number");
  return value->get<int64_t>();
}

std::vector<int64_t> JsonFields::integers(const char* name) const {
  const nlohmann::json* value = find(name);
  std::vector<int64_t> result;
  if (value == nullptr) return result;
  const char* expected = "a whole number or a list of them";
  if (!value->is_array() && !is_whole(*value)) fail(name, *value, expected);
  if (!value->is_array()) return {value->get<int64_t>()};
  for (const nlohmann::json& item : *value) {
    if (!is_whole(item)) fail(name, *value, expected);
    result.push_back(item.get<int64_t>());
  }
  return result;
}

std::vector<nlohmann::json> JsonFields::list(const char* name) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(name, *value, "a list");
  return value->get<std::vector<nlohmann::json>>();
}

}  // namespace s2s::data
