#pragma once
// The error of a template that cannot be parsed or rendered.

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace s2s::jinja {

/// Templates are files of users. The code that reads or renders one converts this to an Error with
/// the place.
class TemplateError : public std::runtime_error {
 public:
  /// A reason that is too long to read is shortened.
  explicit TemplateError(const std::string& reason, int64_t line = 0, int64_t column = 0)
      : std::runtime_error(shortened(reason)), line_(line), column_(column) {}
  /// From 1; 0: unknown.
  int64_t line() const { return line_; }
  /// In characters from 1; 0: unknown.
  int64_t column() const { return column_; }
  /// Whether the template itself raised it, with raise_exception.
  bool is_raised() const { return is_raised_; }
  static TemplateError raised(const std::string& message) {
    TemplateError error(message);
    error.is_raised_ = true;
    return error;
  }
  /// Returns the same error with a location.
  TemplateError at(int64_t line, int64_t column) const {
    TemplateError error = *this;
    error.line_ = line;
    error.column_ = column;
    return error;
  }

 private:
  static std::string shortened(const std::string& reason) {
    constexpr size_t kMostBytes = 2000;
    if (reason.size() <= kMostBytes) return reason;
    size_t end = kMostBytes;
    while (end > 0 && (reason[end] & 0xC0) == 0x80) --end;
    return reason.substr(0, end) + "...";
  }

  int64_t line_;
  int64_t column_;
  bool is_raised_ = false;
};

/// The user has asked the process to stop while a template was running.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "stopped while a chat template ran"; }
};

}  // namespace s2s::jinja
