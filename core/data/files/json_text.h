#pragma once
// JSON text, with numbers as Python writes them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

/// The shortest decimal that reads back as `number`, as Python's repr: "0.1", "1.0", "1e-05",
/// "inf".
std::string python_number(double number);

void append_json_string(std::string& out, std::string_view text);
/// NaN and infinities as Python's json writes them.
void append_json_number(std::string& out, double number);
void append_json_integers(std::string& out, const std::vector<int64_t>& numbers);

/// Writes one object's members, in the order of the calls, at the end of a text.
class JsonObjectText {
 public:
  explicit JsonObjectText(std::string& out) : out_(out) { out_ += '{'; }
  JsonObjectText(const JsonObjectText&) = delete;
  JsonObjectText& operator=(const JsonObjectText&) = delete;

  void text(std::string_view name, std::string_view value);
  void number(std::string_view name, double value);
  void integer(std::string_view name, int64_t value);
  void integers(std::string_view name, const std::vector<int64_t>& values);
  /// `json` is a value's text.
  void raw(std::string_view name, std::string_view json);
  /// Writes the name; the value is what the caller appends.
  std::string& value(std::string_view name);
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace s2s::data
