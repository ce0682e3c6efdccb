#pragma once
// The log of a run: lines with time and level on the console, and all of them in a file. Library
// code gets a Log& and never prints by itself.

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/console.h"

namespace s2s {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogSettings {
  LogLevel console_level = LogLevel::kInfo;
  std::string file;  // "": none. All levels are appended and flushed line by line
};

class Log {
 public:
  /// `console` may be null, and must outlive the log. Without console and file, lines are dropped.
  /// Errors: [io/write] when the file cannot be opened.
  explicit Log(Console* console = nullptr, const LogSettings& settings = {});
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void debug(std::string_view text) { write(LogLevel::kDebug, text); }
  void info(std::string_view text) { write(LogLevel::kInfo, text); }
  void warning(std::string_view text) { write(LogLevel::kWarning, text); }
  void error(std::string_view text) { write(LogLevel::kError, text); }

 private:
  void write(LogLevel level, std::string_view text);

  std::mutex mutex_;
  Console* console_;
  LogLevel console_level_;
  std::FILE* file_ = nullptr;
};

}  // namespace s2s
