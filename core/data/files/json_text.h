#pragma once
// Writes JSON with numbers in Python's format.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

/// Returns the shortest decimal that reads back as `number`, as Python's repr does: "0.1", "1.0",
/// "1e-05", "inf".
std::string python_number(double number);

void append_json_string(std::string& out, std::string_view text);
/// Appends a number. NaN and infinities are written as in Python's json.
void append_json_number(std::string& out, double number);
void append_json_integers(std::string& out, const std::vector<int64_t>& numbers);

/// Appends the members of one object to a text, in the order of the calls.
class JsonObjectText {
 public:
  explicit JsonObjectText(std::string& out) : out_(out) { out_ += '{'; }
  JsonObjectText(const JsonObjectText&) = delete;
  JsonObjectText& operator=(const JsonObjectText&) = delete;

  void text(std::string_view name, std::string_view value);
  void number(std::string_view name, double value);
  void integer(std::string_view name, int64_t value);
  void integers(std::string_view name, const std::vector<int64_t>& values);
  /// `json` is the text of a value.
  void raw(std::string_view name, std::string_view json);
  /// Writes the name; the caller appends the value.
  std::string& value(std::string_view name);
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace s2s::data
