// s2s-run plugin check FILE: prints one line per check. The checks run in a child process, so a
// crash of the plugin ends only the child.

#include "plugin/plugin_check.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/foreign_json.h"
#include "base/pipe.h"
#include "plugin/plugin_errors.h"
#include "plugin/search_path.h"
#include "s2s/child_process.h"
#include "s2s/foreign_text.h"
#include "s2s_run/plugin/plugin_check_behavior.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportDescriptor = 3;

using Clock = std::chrono::steady_clock;

/// Splits input into lines.
class LineSplitter {
 public:
  explicit LineSplitter(const std::function<void(const std::string&)>& on_line)
      : on_line_(on_line) {}
  void add(const char* data, size_t size) {
    pending_.append(data, size);
    for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
      on_line_(pending_.substr(0, end));
      pending_.erase(0, end + 1);
    }
  }

 private:
  const std::function<void(const std::string&)>& on_line_;
  std::string pending_;
};

/// Reads until the end of the report. False when the deadline passes first.
bool read_report(int report, Clock::time_point deadline, LineSplitter& lines) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{report, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "child process");
    }
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(report, buffer, sizeof(buffer));
    if (count == 0) return true;
    if (count > 0) lines.add(buffer, static_cast<size_t>(count));
  }
}

/// Starts `command` (an absolute path and its arguments), calls `on_line` for each line of its
/// report, and waits. Nothing when it has not ended in time: then it is killed.
/// Errors: std::system_error when it cannot be started.
std::optional<ProcessEnd> run_child(const std::vector<std::string>& command, int time_limit_s,
                                    const std::function<void(const std::string&)>& on_line) {
  Pipe report;
  ChildSettings settings;
  settings.third = report.write_end();
  settings.has_own_group = false;  // ^C ends it, too
  ChildProcess child(command, settings);
  report.close_write_end();
  LineSplitter lines(on_line);
  const auto deadline = Clock::now() + std::chrono::seconds(time_limit_s);
  const bool is_whole = read_report(report.read_end(), deadline, lines);
  report.close_read_end();
  return is_whole ? child.wait(time_limit_s) : std::nullopt;
}

constexpr int kTimeLimitSeconds = 120;
constexpr std::string_view kNotRun = "not run";  // how the detail of such a check begins
constexpr const char* kChildCommand = "check-in-this-process";

/// All checks, in order: those of the file, then those that need more of core.
std::vector<PluginCheck> all_checks() {
  std::vector<PluginCheck> checks = plugin_file_checks();
  for (PluginCheck& check : behavior_checks()) checks.push_back(std::move(check));
  return checks;
}

/// In the child: writes one JSON line before and after each check. Uses a separate descriptor,
/// because a plugin may print.
int run_checks(const std::string& path, const Invocation&) {
  FILE* const out = fdopen(kReportDescriptor, "w");
  if (out == nullptr) return static_cast<int>(ExitCode::kUsage);
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  const auto report = [out](const Json& line) {
    std::fprintf(out, "%s\n", line.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
    std::fflush(out);
  };
  PluginCheckState state;
  state.path = path;
  for (const PluginCheck& check : all_checks()) {
    report({{"event", "begin"}, {"title", check.title}, {"doing", check.doing}});
    try {
      const std::string detail = check.run(state);
      const char* const event = detail.starts_with(kNotRun) ? "not run" : "ok";
      report({{"event", event}, {"title", check.title}, {"detail", detail}});
    } catch (const Error& error) {
      report({{"event", "failed"},
              {"title", check.title},
              {"id", error.id()},
              {"detail", error.message()}});
      return static_cast<int>(ExitCode::kPlugin);
    } catch (const std::exception& error) {
      report({{"event", "failed"},
              {"title", check.title},
              {"id", "plugin/exception"},
              {"detail",
               state.path + " threw an exception while " + check.doing + ": " + error.what()}});
      return static_cast<int>(ExitCode::kPlugin);
    }
  }
  report({{"event", "end"}});
  return 0;
}

/// In the parent: what the child has reported so far.
struct CheckReport {
  Json lines = Json::array();  // finished checks
  std::string title, doing;    // of the running check
  bool failed = false;
  bool passed = false;

  void take(const std::string& text) {
    const Json line = try_parse_foreign_json<Json>(text);
    if (line.is_discarded()) return;
    const std::string event = line.value("event", "");
    if (event == "begin") {
      title = line.value("title", "");
      doing = line.value("doing", "");
    } else if (event == "end") {
      passed = true;
      title = "the process ends";
      doing = "ending the process";
    } else {
      lines.push_back(line);
      failed = event == "failed";
    }
  }
};

std::string how_it_ended(const std::optional<ProcessEnd>& end) {
  if (!end) return "did not finish in " + std::to_string(kTimeLimitSeconds) + " s";
  if (end->signal != 0) return std::string("died with SIG") + sigabbrev_np(end->signal);
  return "ended the process with exit code " + std::to_string(end->exit_code);
}

void print_line(size_t number, const Json& line) {
  const bool ok = line["event"] != "failed";
  const char* const word = !ok ? "FAILED" : line["event"] == "ok" ? "ok" : "-";
  const std::string id = line.value("id", "");
  const std::string detail = line.value("detail", "");
  std::printf("%2zu %-7s %s%s\n", number, word, line["title"].get<std::string>().c_str(),
              ok && !detail.empty() ? (": " + detail).c_str() : "");
  if (!ok) std::printf("   [%s] %s\n", id.c_str(), printable(detail).c_str());
}

int check(const std::string& path, const Invocation& invocation) {
  CheckReport report;
  const std::optional<ProcessEnd> end =
      run_child({this_executable(), "plugin", kChildCommand, path}, kTimeLimitSeconds,
                [&report](const std::string& line) { report.take(line); });
  const bool clean_end = report.failed || (report.passed && end && end->is_ok());
  if (!clean_end) {
    report.passed = false;
    const Error error = crashed_error(path, how_it_ended(end), report.doing);
    report.lines.push_back({{"event", "failed"},
                            {"title", report.title},
                            {"id", error.id()},
                            {"detail", error.message()}});
  }
  if (invocation.json) {
    const Json json = {{"file", path}, {"passed", report.passed}, {"checks", report.lines}};
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    size_t number = 0;
    for (const Json& line : report.lines) print_line(++number, line);
    const size_t total = all_checks().size();
    if (number < total) std::printf("   %zu more not run\n", total - number);
  }
  return static_cast<int>(report.passed ? ExitCode::kOk : ExitCode::kPlugin);
}

}  // namespace

void setup_plugin_check(const Command& group) {
  const Command command = group.command(
      "check", "check a plugin file in a child process; exit code 4 if a check fails");
  command.option("file", command.runs(check), ".so file of the plugin").required();
  command.json("print JSON");
  const Command child = group.command(kChildCommand, "").hidden();
  child.option("file", child.runs(run_checks), "").required();
}

}  // namespace s2s::run
