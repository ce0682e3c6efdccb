// s2s-run doctor: can this machine train, and what is in the way?

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "plugin/search_path.h"
#include "s2s_run/columns.h"
#include "s2s_run/doctor/finding.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

struct DoctorArguments {
  std::string config;
  std::string folder = ".";
  double self_test_s = 5;
};

/// Half of the time of the self-test goes to maths, the rest to the start of two ranks.
std::vector<Finding> examine(const DoctorArguments& arguments, const Invocation& invocation) {
  std::vector<Finding> all;
  const auto add = [&](std::vector<Finding> found) {
    std::move(found.begin(), found.end(), std::back_inserter(all));
  };
  add(machine_findings());
  add(disk_findings(arguments.folder));
  add(network_findings());
  add(environment_findings());
  try {
    add(plugin_findings(invocation.search(invocation, arguments.config)));
    if (arguments.self_test_s > 0) {
      add(maths_findings(arguments.self_test_s / 2));
      add(collective_findings(invocation));
    }
  } catch (const std::system_error& error) {
    all.push_back({"processes", Level::kError,
                   std::string("a child process cannot be started: ") + error.what(),
                   "raise the limit of processes (ulimit -u, pids.max)"});
  }
  std::vector<Finding> libraries = library_findings();
  all.insert(all.begin(), libraries.begin(), libraries.end());
  return all;
}

bool is_error(const Finding& finding) { return finding.level == Level::kError; }

void print_findings(const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& finding : findings) {
    rows.push_back({to_string(finding.level), finding.area, finding.text});
    if (!finding.remedy.empty()) rows.push_back({"", "", "-> " + finding.remedy});
  }
  print_columns(rows);
  const auto count = [&](Level level) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& finding) { return finding.level == level; });
  };
  fmt::print("\n{}; errors: {}, warnings: {}\n",
             count(Level::kError) == 0 ? "training can start" : "training cannot start",
             count(Level::kError), count(Level::kWarning));
}

void print_findings_json(const std::vector<Finding>& findings, bool can_train) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"area", finding.area},
                    {"level", to_string(finding.level)},
                    {"text", finding.text},
                    {"remedy", finding.remedy}});
  }
  const ordered_json out = {{"can_train", can_train}, {"findings", list}};
  std::cout << out.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

int doctor(const DoctorArguments& arguments, const Invocation& invocation) {
  const std::vector<Finding> findings = examine(arguments, invocation);
  const bool can_train = std::none_of(findings.begin(), findings.end(), is_error);
  if (invocation.json) {
    print_findings_json(findings, can_train);
  } else {
    print_findings(findings);
  }
  return static_cast<int>(can_train ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

void setup_doctor(const Command& program) {
  const Command command = program.command(
      "doctor",
      "check libraries, GPUs, memory, disk, network and plugins of this machine, with a "
      "short test of maths and collectives; exit code 1 if training cannot start");
  DoctorArguments& arguments = command.runs(doctor);
  command
      .option("--folder", arguments.folder,
              "folder in which runs are written, for the check of the disk")
      .shows_default();
  command
      .option("--self-test", arguments.self_test_s,
              "seconds of the test of maths and collectives; 0: none")
      .says_not_negative()
      .shows_default();
  add_config_option(command, arguments.config);
  command.json("print one JSON object");
}

}  // namespace s2s::run
