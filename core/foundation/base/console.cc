#include "base/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "s2s/foreign_text.h"

namespace s2s {

namespace {
constexpr std::string_view kEraseLine = "\r\033[K";

/// Returns at most this many bytes of the text, without splitting a character.
std::string first_columns(const std::string& text, size_t num_columns) {
  size_t end = std::min(num_columns, text.size());
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}
}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Console::Console(std::ostream& out, bool is_terminal, int width)
    : out_(out), is_terminal_(is_terminal), width_(width) {}

Console::~Console() { set_status(""); }

void Console::print_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!status_.empty()) out_ << kEraseLine;
  out_ << printable(text) << '\n' << status_ << std::flush;
}

void Console::set_status(std::string_view text) {
  if (!is_terminal_) return;
  const std::lock_guard lock(mutex_);
  if (status_.empty() && text.empty()) return;
  // The last column stays empty, because writing there makes some terminals begin a new line.
  status_ = first_columns(printable_name(text), static_cast<size_t>(std::max(1, width_ - 1)));
  out_ << kEraseLine << status_ << std::flush;
}

bool standard_error_is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

int terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 100;
}

}  // namespace s2s
