#pragma once
// Why a template cannot be parsed or rendered.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace s2s::jinja {

/// Templates are users' files: who reads or renders one converts this to an Error with the place.
class TemplateError : public std::runtime_error {
 public:
  explicit TemplateError(const std::string& reason, int64_t line = 0)
      : std::runtime_error(reason), line_(line) {}
  /// From 1; 0: unknown.
  int64_t line() const { return line_; }
  /// Raised by the template itself, with raise_exception.
  bool is_raised() const { return is_raised_; }
  static TemplateError raised(const std::string& message) {
    TemplateError error(message);
    error.is_raised_ = true;
    return error;
  }
  /// The same with a line.
  TemplateError at(int64_t line) const {
    TemplateError error = *this;
    error.line_ = line;
    return error;
  }

 private:
  int64_t line_;
  bool is_raised_ = false;
};

}  // namespace s2s::jinja
