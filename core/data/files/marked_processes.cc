#include "files/marked_processes.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>

#include "base/number_text.h"
#include "s2s/foreign_text.h"

namespace s2s::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "S2S_COMMAND_MARK=";
constexpr int kRounds = 20;  // processes may start others while they are being killed

/// Whether the environment with which a process was started has `mark`. The files of other accounts
/// cannot be read.
bool is_marked(const fs::path& process, const std::string& mark) {
  std::string text;
  try {
    text = read_small_file(process / "environ");
  } catch (const std::system_error&) {
    return false;
  }
  const std::string entry = mark + '\0';
  return text.starts_with(entry) || text.find('\0' + entry) != std::string::npos;
}

/// Returns the number of processes that it killed.
int kill_once(const std::string& mark) {
  int killed = 0;
  std::error_code failed;
  for (fs::directory_iterator at("/proc", failed), end; !failed && at != end;
       at.increment(failed)) {
    const auto number = read_number<pid_t>(at->path().filename().string());
    if (!number || *number == getpid() || !is_marked(at->path(), mark)) continue;
    if (kill(*number, SIGKILL) == 0) ++killed;
  }
  return killed;
}

}  // namespace

std::string new_mark() {
  std::random_device device;
  std::string mark(kName);
  for (int i = 0; i < 4; ++i) mark += std::to_string(device());
  return mark;
}

std::vector<char*> environment_with(std::string& mark) {
  std::vector<char*> all;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!std::string_view(*at).starts_with(kName)) all.push_back(*at);
  }
  all.push_back(mark.data());
  all.push_back(nullptr);
  return all;
}

void kill_marked(const std::string& mark) {
  // A killed process that nobody has waited for no longer has an environment.
  for (int round = 0; round < kRounds && kill_once(mark) > 0; ++round) {
  }
}

}  // namespace s2s::files
