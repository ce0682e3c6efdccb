#include "program.h"

#include <optional>
#include <system_error>

#include "s2s/child_process.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace PLUGIN_NAME {
namespace {

std::string end_of(const std::string& log) {
  constexpr size_t kShown = 400;
  try {
    const std::string text = s2s::read_small_file(log);
    const std::string end = text.substr(text.size() > kShown ? text.size() - kShown : 0);
    return end.empty() ? "(nothing)" : s2s::printable(end);
  } catch (const std::system_error& error) {
    return std::string("(") + error.what() + ")";
  }
}

s2s::Error failed(const std::string& program, const std::string& what, const std::string& log) {
  return {s2s::ExitCode::kCheckFailed, "PLUGIN_NAME/failed",
          program + " " + what + "; expected exit code 0; the end of its log:\n  " + end_of(log)};
}

}  // namespace

void run_program(const std::string& program, const ProgramFiles& files, double timeout_s) {
  s2s::ChildSettings settings;
  settings.input = files.input;
  settings.output_file = files.output;
  settings.error_file = files.log;
  std::optional<s2s::ProcessEnd> end;
  try {
    end = s2s::ChildProcess({program}, settings).wait(timeout_s);
  } catch (const std::system_error& error) {
    throw failed(program, "could not be started: " + error.code().message(), files.log);
  }
  if (!end) throw failed(program, "took more than timeout_s and was killed", files.log);
  if (!end->is_ok()) throw failed(program, "ended with " + end->text(), files.log);
}

}  // namespace PLUGIN_NAME
