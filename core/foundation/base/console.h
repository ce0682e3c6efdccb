#pragma once
// Output for a person: permanent lines and, on a terminal, one status line below them that is
// redrawn. Thread-safe.

#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

namespace s2s {

/// Seconds on a clock that never goes back.
using Clock = std::function<double()>;
double monotonic_seconds();

class Console {
 public:
  /// width: columns of the terminal; ignored when `is_terminal` is false.
  Console(std::ostream& out, bool is_terminal, int width = 100);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool is_terminal() const { return is_terminal_; }
  int width() const { return width_; }
  /// Prints a permanent line, escaped by `printable`. The status line moves below it.
  void print_line(std::string_view text);
  /// Draws the status line, cut to the terminal's width; "" removes it. Does nothing without a
  /// terminal.
  void set_status(std::string_view text);

 private:
  std::ostream& out_;
  bool is_terminal_;
  int width_;
  std::string status_;
  std::mutex mutex_;
};

/// Whether standard error is a terminal that can redraw a line.
bool standard_error_is_terminal();
/// Columns of the terminal at standard error, or 100 if unknown.
int terminal_width();

}  // namespace s2s
