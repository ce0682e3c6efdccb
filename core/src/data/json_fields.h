#pragma once
// Typed reads of JSON fields with the place in every message.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace s2s::data {

/// A JSON object, and what to call it in messages.
class JsonFields {
 public:
  /// Errors: [data/field] when `object` is not an object.
  JsonFields(const nlohmann::json& object, std::string place, std::string prefix);

  /// The member, or null when it is absent or JSON's null.
  const nlohmann::json* find(const char* name) const;
  /// Errors: [data/field] when it is missing or of another type.
  std::string text(const char* name) const;
  double number(const char* name) const;
  int64_t integer(const char* name) const;
  std::optional<std::string> maybe_text(const char* name) const;
  std::optional<double> maybe_number(const char* name) const;
  std::optional<int64_t> maybe_integer(const char* name) const;
  /// One integer, or a list of them; empty when absent.
  std::vector<int64_t> integers(const char* name) const;
  /// Items of a list; empty when absent.
  std::vector<nlohmann::json> list(const char* name) const;

  const std::string& place() const { return place_; }
  std::string full_name(const char* name) const { return prefix_ + name; }

 private:
  const nlohmann::json& require(const char* name, const char* expected) const;
  [[noreturn]] void fail(const char* name, const nlohmann::json& value, const char* expected) const;

  const nlohmann::json& object_;
  std::string place_;
  std::string prefix_;
};

}  // namespace s2s::data
