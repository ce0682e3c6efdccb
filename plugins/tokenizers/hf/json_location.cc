#include "json_location.h"

#include <algorithm>

#include "hf_errors.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

const nlohmann::json& null_value() {
  static const nlohmann::json value;
  return value;
}

}  // namespace

JsonLocation::JsonLocation(const nlohmann::json& value, std::string file, std::string path)
    : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

std::string JsonLocation::where() const { return path_.empty() ? file_ : file_ + ": " + path_; }

std::string JsonLocation::shown() const {
  if (value_->is_object()) return "an object";
  if (value_->is_array()) return "a list";
  if (value_->is_string()) {
    const auto& text = value_->get_ref<const std::string&>();
    return "'" + valid_utf8(text.substr(0, 80)) + (text.size() > 80 ? "...'" : "'");
  }
  return value_->is_null() ? "missing" : value_->dump();
}

JsonLocation JsonLocation::operator[](const char* key) const {
  if (!value_->is_object()) damaged("an object");
  const auto found = value_->find(key);
  return {found == value_->end() ? null_value() : *found, file_,
          path_.empty() ? key : path_ + "." + key};
}

JsonLocation JsonLocation::item(size_t index) const {
  return {(*value_)[index], file_, path_ + "[" + std::to_string(index) + "]"};
}

std::string JsonLocation::text() const {
  if (!value_->is_string()) damaged("a string");
  return value_->get<std::string>();
}

bool JsonLocation::flag(bool otherwise) const {
  if (value_->is_null()) return otherwise;
  if (!value_->is_boolean()) damaged("true or false");
  return value_->get<bool>();
}

int64_t JsonLocation::count() const {
  constexpr int64_t kMax = int64_t{1} << 30;
  const bool fits = value_->is_number_integer() && *value_ >= 0 && *value_ < kMax;
  if (!fits) damaged("a whole number from 0 to 2^30");
  return value_->get<int64_t>();
}

std::string JsonLocation::character() const {
  std::string whole = text();
  if (whole.empty() || code_point_at(whole, 0).size != whole.size()) damaged("one character");
  return whole;
}

void JsonLocation::expect_list() const {
  if (!value_->is_array()) damaged("a list");
}

std::string JsonLocation::type() const { return (*this)["type"].text(); }

void JsonLocation::expect_only(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) damaged("an object");
  for (const auto& [key, member] : value_->items()) {
    if (key == "type" || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string expected = "only the keys type";
    for (const std::string_view known : keys) expected += ", " + std::string(known);
    JsonLocation(member, file_, path_.empty() ? key : path_ + "." + key).refuse(expected);
  }
}

void JsonLocation::refuse(const std::string& expected) const {
  throw errors::unsupported(where(), shown(), expected);
}

void JsonLocation::refuse_type(const std::string& expected) const {
  (*this)["type"].refuse(expected);
}

void JsonLocation::damaged(const std::string& expected) const {
  throw errors::definition(where(), shown(), expected);
}

}  // namespace s2s::hf
