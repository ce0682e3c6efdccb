#pragma once
// Runs code in a child process, so that its crash is an answer and no end.

#include <functional>
#include <string>
#include <vector>

#include "s2s/child_process.h"

namespace s2s::run {

struct ChildAnswer {
  std::string text;  // what it wrote
  ProcessEnd end;
  bool timed_out = false;
  bool is_ok() const { return end.is_ok() && !timed_out; }
  /// "ended by signal 11 (Segmentation fault)", "gave no answer in time", "exit code 3"
  std::string end_text() const;
};

/// Writes a line to the parent.
using Tell = std::function<void(const std::string& line)>;

/// Forks. `body` runs in the child, whose standard output and error are closed. Call it before this
/// process has used a GPU or the threads of LibTorch. Errors: std::system_error.
ChildAnswer run_in_child(double limit_s, const std::function<void(const Tell& tell)>& body);

/// Starts a program, and collects its standard output and error. Errors: std::system_error.
ChildAnswer run_command(double limit_s, const std::vector<std::string>& words);

}  // namespace s2s::run
