#include "base/log.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/io_errors.h"
#include "s2s/foreign_text.h"

namespace s2s {

namespace {

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

/// Local time, "2026-01-31 12:00:00.123".
std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  return fmt::format("{}.{:03}", text, since_epoch.count() % 1000);
}

}  // namespace

Log::Log(Console* console, const LogSettings& settings)
    : console_(console), console_level_(settings.console_level) {
  if (settings.file.empty()) return;
  file_ = std::fopen(settings.file.c_str(), "ae");
  if (file_ == nullptr) throw write_error(settings.file, "cannot open the log", errno);
}

Log::~Log() {
  if (file_ != nullptr) std::fclose(file_);
}

void Log::write(LogLevel level, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string time = time_text();
  const std::string line = fmt::format("{}: {}", level_name(level), printable(text));
  if (console_ != nullptr && level >= console_level_) {
    console_->print_line(time.substr(11, 8) + " " + line);
  }
  if (file_ != nullptr) {
    fmt::print(file_, "{} {}\n", time, line);
    std::fflush(file_);
  }
}

}  // namespace s2s
