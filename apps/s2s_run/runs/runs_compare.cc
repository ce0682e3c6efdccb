// s2s-run runs compare: what differs between runs, and where they part.

#include <fmt/format.h>

#include <iostream>

#include "base/number_text.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/new_output.h"
#include "s2s_run/runs/run_record.h"
#include "s2s_run/runs/runs_page.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

struct CompareRunsArguments {
  std::vector<std::string> folders;
  double rtol = 0;
  std::string html;
  bool force = false;
};

Error one_run_error(const RunRecord& run) {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run runs compare: " + run.path +
              " is the only run; give two or more\n  see:       s2s-run runs compare --help"};
}

/// The command that prints the first micro-batch of a step.
std::string batch_command(const RunRecord& run, int64_t step) {
  const std::string* const text = run.value("trainer.accumulate_grad_batches");
  const int64_t accumulate = text == nullptr ? 1 : read_number<int64_t>(*text).value_or(1);
  return fmt::format("s2s-run data inspect {}/config.yaml --batch {}", run.path,
                     (step - 1) * accumulate * run.data_size + 1);
}

/// Sentences about two runs. The first one names the step.
std::vector<std::string> sentences(const RunRecord& a, const RunRecord& b, const Parting& parting) {
  if (parting.num_common == 0) return {fmt::format("{} and {}: no step in common", a.name, b.name)};
  if (!parting.loss) {
    return {fmt::format("{} and {}: equal losses in all {} common steps", a.name, b.name,
                        parting.num_common)};
  }
  const Parting::Change& loss = *parting.loss;
  std::vector<std::string> out = {fmt::format("{} and {} part at step {}: loss {} and {}", a.name,
                                              b.name, loss.step, loss.first, loss.second)};
  for (const Parting::Change& change : parting.before) {
    if (change.key == "batch") continue;
    out.push_back(
        fmt::format("step {}: {} {} and {}", change.step, change.key, change.first, change.second));
  }
  if (!parting.has_batches) {
    out.push_back("the batch: not recorded by both runs");
  } else {
    out.push_back(fmt::format("the batch of step {}: {}", loss.step,
                              parting.is_same_batch ? "the same cuts" : "other cuts"));
  }
  out.push_back("see: " + batch_command(a, loss.step));
  if (!parting.is_same_batch) out.push_back("see: " + batch_command(b, loss.step));
  return out;
}

ordered_json parting_json(const RunRecord& a, const RunRecord& b, const Parting& parting) {
  ordered_json out = {{"first", a.name}, {"second", b.name}, {"common_steps", parting.num_common}};
  if (!parting.loss) {
    out["step"] = nullptr;
    return out;
  }
  out["step"] = parting.loss->step;
  out["loss"] = {parting.loss->first, parting.loss->second};
  out["same_batch"] =
      parting.has_batches ? ordered_json(parting.is_same_batch) : ordered_json(nullptr);
  out["differs_first"] = ordered_json::array();
  for (const Parting::Change& change : parting.before) {
    out["differs_first"].push_back(
        {{"step", change.step}, {"key", change.key}, {"values", {change.first, change.second}}});
  }
  out["batch_commands"] = {batch_command(a, parting.loss->step),
                           batch_command(b, parting.loss->step)};
  return out;
}

ordered_json rows_json(const std::vector<ConfigDifference>& rows) {
  ordered_json out = ordered_json::object();
  for (const ConfigDifference& row : rows) out[row.key] = row.values;
  return out;
}

void print_table(const std::string& title, const std::vector<RunRecord>& runs,
                 const std::vector<ConfigDifference>& differences) {
  if (differences.empty()) {
    fmt::print("{}: no differences\n\n", title);
    return;
  }
  std::vector<std::vector<std::string>> rows = {{title}};
  for (const RunRecord& run : runs) rows.front().push_back(run.name);
  for (const ConfigDifference& difference : differences) {
    rows.push_back({difference.key});
    rows.back().insert(rows.back().end(), difference.values.begin(), difference.values.end());
  }
  std::fflush(stdout);
  print_columns(rows);
  fmt::print("\n");
}

int compare_runs(const CompareRunsArguments& arguments, const Invocation& invocation) {
  if (!arguments.html.empty()) require_new({arguments.html}, arguments.force);
  const std::vector<RunRecord> runs = read_runs(arguments.folders, Validations::kLeaveOut);
  if (runs.size() == 1) throw one_run_error(runs.front());
  std::vector<std::string> firsts;  // a sentence for each pair
  std::string text;
  ordered_json partings = ordered_json::array();
  for (size_t i = 1; i < runs.size(); ++i) {
    const Parting parting = find_parting(runs.front(), runs[i], arguments.rtol);
    const std::vector<std::string> lines = sentences(runs.front(), runs[i], parting);
    for (size_t k = 0; k < lines.size(); ++k) text += (k == 0 ? "" : "  ") + lines[k] + "\n";
    firsts.push_back(lines.front());
    partings.push_back(parting_json(runs.front(), runs[i], parting));
  }
  if (!arguments.html.empty()) write_runs_page(runs, {firsts, 0}, arguments.html);
  if (invocation.json) {
    ordered_json out = {{"runs", ordered_json::array()},
                        {"config", rows_json(config_differences(runs))},
                        {"program", rows_json(program_differences(runs))},
                        {"partings", partings}};
    for (const RunRecord& run : runs)
      out["runs"].push_back({{"name", run.name}, {"folder", run.path}});
    std::cout << out.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    return 0;
  }
  print_table("configuration", runs, config_differences(runs));
  print_table("program", runs, program_differences(runs));
  fmt::print("{}", printable(text));
  if (!arguments.html.empty()) fmt::print("\nwrote {}\n", printable_name(arguments.html));
  return 0;
}

}  // namespace

void setup_runs_compare(const Command& group) {
  const Command command = group.command(
      "compare", "compare runs: configuration, program, and the first step whose loss differs");
  CompareRunsArguments& arguments = command.runs(compare_runs);
  command
      .option("folders", arguments.folders,
              "run folders, or folders that contain some; the others are compared with the first")
      .required();
  command
      .option("--rtol", arguments.rtol,
              "largest relative difference of two numbers that count as equal; 0: bit for bit")
      .not_negative()
      .shows_default();
  command.option("--html", arguments.html,
                 "write the learning curves of all runs, in one chart for each metric, as one HTML "
                 "page");
  command.force(arguments.force);
  command.json("print one JSON object");
}

}  // namespace s2s::run
