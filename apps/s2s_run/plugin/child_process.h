#pragma once
// Runs a program that reports line by line on a descriptor of its own.

#include <functional>
#include <string>
#include <vector>

namespace s2s::run {

/// The descriptor on which a child reports.
constexpr int kReportDescriptor = 3;

/// How a child ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // 0 when it exited by itself
  bool timed_out = false;
};

/// Starts `command` (an absolute path and its arguments), hands every line of its report to
/// `on_line`, and waits. It is killed after `time_limit_s` seconds.
/// Errors: std::system_error when it cannot be started.
ChildEnd run_child(const std::vector<std::string>& command, int time_limit_s,
                   const std::function<void(const std::string&)>& on_line);

}  // namespace s2s::run
