// s2s-run runs list|show: what was run, and with which differences.

#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/runs/run_record.h"
#include "s2s_run/runs/runs_facts.h"
#include "s2s_run/runs/runs_page.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;
using Folders = std::vector<std::string>;

ordered_json facts_json(const RunRecord& run) {
  ordered_json out = {{"name", run.name},
                      {"folder", run.path},
                      {"steps", run.last_step()},
                      {"max_steps", run.max_steps()},
                      {"checkpoint", run.checkpoint},
                      {"manifest", run.manifest}};
  if (!run.last.is_null()) out["last"] = run.last;
  out["validations"] = run.validations;
  return out;
}

void print_json(const ordered_json& json) {
  std::cout << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

struct ListArguments {
  Folders folders;
  std::string html;
  bool force = false;
};

int list_runs(const ListArguments& arguments, const Invocation& invocation) {
  if (!arguments.html.empty() && !arguments.force) require_own_page(arguments.html);
  const auto validations = invocation.json ? Validations::kRead : Validations::kLeaveOut;
  const std::vector<RunRecord> runs = read_runs(arguments.folders, validations);
  const std::vector<ConfigDifference> differences = config_differences(runs);
  if (!arguments.html.empty()) write_runs_page(runs, {}, arguments.html);
  if (invocation.json) {
    ordered_json out = ordered_json::array();
    for (size_t i = 0; i < runs.size(); ++i) {
      ordered_json facts = facts_json(runs[i]);
      facts["differences"] = ordered_json::object();
      for (const auto& [key, values] : differences) facts["differences"][key] = values[i];
      out.push_back(facts);
    }
    print_json(out);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"run", "started", "steps", "loss", "checkpoint", "differs in"}};
  const std::vector<std::string> own = own_values(differences, runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    rows.push_back({run.name, started_text(run), steps_text(run), last_loss_text(run),
                    run.checkpoint.empty() ? "-" : run.checkpoint, own[i]});
  }
  print_columns(rows);
  if (!arguments.html.empty()) {
    std::cout.flush();
    fmt::print("\nwrote {}\n", printable_name(arguments.html));
  }
  return 0;
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_run(const RunRecord& run) {
  std::vector<std::vector<std::string>> rows = {{"run", run.path},
                                                {"started", started_text(run)},
                                                {"steps", steps_text(run)},
                                                {"checkpoint", run.checkpoint}};
  for (const char* key : {"s2s", "torch", "git_commit", "run_id", "host"}) {
    const auto found = run.manifest.find(key);
    if (found != run.manifest.end()) rows.push_back({key, text_of(*found)});
  }
  const auto command = run.manifest.find("command_line");
  if (command != run.manifest.end() && command->is_array()) {
    Folders words;
    for (const auto& word : *command) words.push_back(text_of(word));
    rows.push_back({"command", joined(words, " ")});
  }
  if (!run.last.is_null()) {
    for (const auto& [key, value] : run.last.items()) {
      rows.push_back({key, text_of(value)});
    }
  }
  for (const auto& [set, line] : run.validations) {
    for (const auto& [key, value] : line.items()) {
      if (key != "validation") rows.push_back({set + " " + key, text_of(value)});
    }
  }
  print_columns(rows);
}

int show_runs(const Folders& folders, const Invocation& invocation) {
  const std::vector<RunRecord> runs = read_runs(folders, Validations::kRead);
  if (invocation.json) {
    ordered_json out = ordered_json::array();
    for (const RunRecord& run : runs) {
      ordered_json facts = facts_json(run);
      for (const auto& [key, value] : run.config) facts["config"][key] = value;
      out.push_back(facts);
    }
    print_json(out);
    return 0;
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) fmt::print("\n");
    std::fflush(stdout);
    print_run(runs[i]);
  }
  return 0;
}

}  // namespace

void setup_runs(const Command& program) {
  const Command group = program.group("runs", "list and compare training runs");
  const Command list = group.command("list", "list runs, their last loss and their differences");
  ListArguments& listed = list.runs(list_runs);
  list.option("folders", listed.folders, "run folders, or folders that contain some").required();
  list.option("--html", listed.html,
              "write the list and the learning curves of all runs as one HTML page");
  list.force(listed.force);
  list.json("print one JSON list");
  const Command show =
      group.command("show", "show what a run recorded: program, command, last metrics");
  show.option("folders", show.runs(show_runs), "run folders, or folders that contain some")
      .required();
  show.json("print one JSON list, with the configuration");
  setup_runs_compare(group);
  setup_runs_page(group);
}

}  // namespace s2s::run
