#include "base/log.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

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

struct Log::Implementation {
  std::mutex mutex;
  Console* console = nullptr;
  LogLevel console_level = LogLevel::kInfo;
  std::FILE* file = nullptr;
  ~Implementation() {
    if (file != nullptr) std::fclose(file);
  }
};

Log::Log() = default;

Log::Log(Console* console, const LogSettings& settings)
    : implementation_(std::make_unique<Implementation>()) {
  implementation_->console = console;
  implementation_->console_level = settings.console_level;
  if (settings.file.empty()) return;
  implementation_->file = std::fopen(settings.file.c_str(), "ae");
  if (implementation_->file == nullptr) {
    throw write_error(settings.file, "cannot open the log", errno);
  }
}

Log::~Log() = default;
Log::Log(Log&& other) noexcept = default;
Log& Log::operator=(Log&& other) noexcept = default;

void Log::write(LogLevel level, std::string_view text) {
  if (implementation_ == nullptr) return;
  const std::lock_guard lock(implementation_->mutex);
  const std::string time = time_text();
  const std::string line = fmt::format("{}: {}", level_name(level), printable(text));
  if (implementation_->console != nullptr && level >= implementation_->console_level) {
    implementation_->console->print_line(time.substr(11, 8) + " " + line);
  }
  if (implementation_->file != nullptr) {
    fmt::print(implementation_->file, "{} {}\n", time, line);
    std::fflush(implementation_->file);
  }
}

}  // namespace s2s
