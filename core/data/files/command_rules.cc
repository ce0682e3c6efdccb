#include "files/command_rules.h"

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "base/untrusted.h"
#include "config/distrusted_files.h"
#include "config/interpolation.h"
#include "config/secrets.h"
#include "files/brace_expansion.h"
#include "files/files_errors.h"
#include "files/pipe_command.h"

namespace s2s {
namespace {

/// Rules of the whole process. The reader of a command checks them itself, so no caller can forget
/// it.
struct Rules {
  std::mutex mutex;
  bool all = false;                       // guarded by mutex, like `typed`
  std::unordered_set<std::string> typed;  // without "pipe:"
  double silence_s = files::CommandLimits{}.silence_s;
};

Rules& rules() {
  static Rules the_process;
  return the_process;
}

/// A shell can read the variable itself, and then its value is not visible in the command.
void check_no_secret(const Config& command) {
  for (const std::string& name : environment_variables(command)) {
    if (!is_secret_name(name)) continue;
    Origin place = command.origin();
    place.via.clear();  // it would repeat the command
    throw files_errors::command_secret(place.text(), name);
  }
}

bool is_allowed_by_variable() {
  const char* const value = std::getenv("S2S_ALLOW_COMMANDS");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace

void allow_typed_command(const std::string& source) {
  const auto command = files::pipe_command(source);
  if (!command) return;
  Rules& to = rules();
  {
    const std::lock_guard lock(to.mutex);
    to.typed.insert(*command);
  }
  try {
    for (const std::string& one : files::expand_shard_pattern(source)) {
      const std::lock_guard lock(to.mutex);
      to.typed.insert(files::pipe_command(one).value_or(*command));
    }
  } catch (const Error&) {  // reading the pattern reports what is wrong with it
  }
}

void allow_typed_commands(const Config& typed) {
  if (typed.is_scalar() && files::pipe_command(typed.text())) {
    check_no_secret(typed);
    if (!is_distrusted(typed.origin())) allow_typed_command(typed.text());
  }
  for (const Config& item : typed.items()) allow_typed_commands(item);
  for (const auto& [key, value] : typed.entries()) allow_typed_commands(value);
}

void allow_data_commands(bool allowed) {
  const std::lock_guard lock(rules().mutex);
  rules().all = allowed;
}

void set_command_timeout(double seconds) {
  const std::lock_guard lock(rules().mutex);
  rules().silence_s = seconds;
}

}  // namespace s2s

namespace s2s::files {

bool is_command_allowed(const std::string& command) {
  if (is_untrusted()) return false;
  if (is_allowed_by_variable()) return true;
  const std::lock_guard lock(rules().mutex);
  return rules().all || rules().typed.contains(command);
}

CommandLimits command_limits() {
  CommandLimits limits;
  if (const char* const text = std::getenv("S2S_COMMAND_TIMEOUT_S")) {
    char* end = nullptr;
    limits.silence_s = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(limits.silence_s > 0)) {
      throw files_errors::command_timeout(text);
    }
    return limits;
  }
  const std::lock_guard lock(rules().mutex);
  limits.silence_s = rules().silence_s;
  return limits;
}

}  // namespace s2s::files
