#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "base/accelerator.h"
#include "base/text.h"
#include "plugin/plugin_loader.h"
#include "plugin/plugin_scan.h"
#include "s2s_run/columns.h"
#include "s2s_run/doctor/child_process.h"
#include "s2s_run/doctor/finding.h"

namespace s2s::run {
namespace {

constexpr double kLimit_s = 60;

/// One line for each loaded file: "" or why it does not load.
void load_from(const std::vector<const PluginFile*>& files, size_t begin, const Tell& tell) {
  std::string ignored;
  if (has_accelerator_driver()) open_accelerator(ignored);  // plugins of the device need it
  for (size_t i = begin; i < files.size(); ++i) {
    std::string problem;
    try {
      Registries staging;
      run_registration(open_plugin(*files[i]), *files[i], staging);
      check_provides(*files[i], staging);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    for (char& c : problem) {
      if (c == '\n') c = ' ';
    }
    tell(problem);
  }
}

/// Why each file does not load; "" if it does. If a file ends the child process, the file is named,
/// and the next child continues after it.
std::vector<std::string> problems_of(const std::vector<const PluginFile*>& files) {
  std::vector<std::string> problems;
  while (problems.size() < files.size()) {
    const ChildAnswer answer =
        run_in_child(kLimit_s, [&](const Tell& tell) { load_from(files, problems.size(), tell); });
    std::istringstream lines(answer.text);
    for (std::string line; std::getline(lines, line);) problems.push_back(line);
    if (!answer.is_ok() && problems.size() < files.size()) {
      problems.push_back("loading it: " + answer.end_text());
    }
  }
  return problems;
}

/// Plugins that only a GPU needs may not load without one.
bool is_for_gpus(const PluginFile& file) {
  for (const ComponentId& id : file.provides) {
    if (id.kind == "kernels" || (id.kind == "communicator" && id.name == "nccl")) return true;
  }
  return false;
}

Finding problem_finding(const PluginFile& file, const std::string& problem) {
  const bool is_expected = is_for_gpus(file) && !has_accelerator_driver();
  return {"plugins", is_expected ? Level::kNote : Level::kWarning,
          short_path(file.path) + ": " + problem,
          is_expected ? "" : "s2s-run plugin check " + short_path(file.path)};
}

}  // namespace

std::vector<Finding> plugin_findings(const SearchInputs& inputs) {
  const PluginScan scan = scan_plugins(resolve_search_path(inputs));
  std::vector<Finding> out;
  std::vector<const PluginFile*> files;
  for (const PluginFile& file : scan.files) {
    if (file.state == PluginState::kFound) {
      files.push_back(&file);
    } else if (file.problem) {
      out.push_back(problem_finding(file, first_line_in(file.problem->what())));
    }
  }
  for (const Error& error : scan.duplicates.errors()) {
    out.push_back({"plugins", Level::kError, first_line_in(error.what()),
                   "remove one of the two files: no run starts with both"});
  }
  int64_t num_loaded = 0;
  const std::vector<std::string> problems = problems_of(files);
  for (size_t i = 0; i < files.size(); ++i) {
    if (problems[i].empty()) {
      ++num_loaded;
    } else {
      out.push_back(problem_finding(*files[i], problems[i]));
    }
  }
  Finding summary = {"plugins", Level::kOk, counted(num_loaded, "plugin") + " loads", ""};
  if (num_loaded != 1) summary.text = fmt::format("{} plugins load", num_loaded);
  if (num_loaded == 0) {
    summary.level = Level::kError;
    summary.remedy = "s2s-run plugin path shows where plugins are searched; build or install them";
  }
  out.insert(out.begin(), summary);
  return out;
}

}  // namespace s2s::run
