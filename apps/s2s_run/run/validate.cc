// s2s-run validate CONFIG --checkpoint DIR: computes losses and metrics per data set, and writes
// predictions and the listening report.

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shards.h"
#include "eval/metrics/example_exchange.h"
#include "eval/report/listening_report.h"
#include "eval/validator.h"
#include "run/run.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "train/run_folder.h"

namespace s2s::run {
namespace {

struct ValidateArguments {
  ConfigArguments config;
  std::string checkpoint;
  std::string report;  // "": report/ in the run folder
  bool force = false;
  bool ema = false;
  int64_t limit_batches = 0;
};

void print_report(const ValidationReport& report) {
  for (const auto& [set, metrics] : report.sets) {
    fmt::print("{}\n", printable_name(set));
    for (const auto& [name, value] : metrics) fmt::print("  {:28} {:.4f}\n", name, value);
  }
}

std::string cell_text(const ScoreTable::Row& row, const std::optional<double>& cell) {
  if (!cell) return "-";
  if (row.unit == "%") return fmt::format("{:.1f} %", *cell * 100);
  return fmt::format("{:.2f}{}", *cell, row.unit.empty() ? "" : " " + row.unit);
}

/// Prints the model's scores next to the upper bounds that its codec and the scorer allow.
void print_scores(const DataSetBoard& board) {
  const ScoreTable table = board.table();
  fmt::print("\n{}, {}\n", board.name(), counted(board.num_examples(), "example"));
  std::vector<std::vector<std::string>> rows = {{""}};
  rows[0].insert(rows[0].end(), table.columns.begin(), table.columns.end());
  for (const ScoreTable::Row& row : table.rows) {
    rows.push_back({row.label});
    for (const auto& cell : row.cells) rows.back().push_back(cell_text(row, cell));
  }
  print_columns(rows);
}

void print_text(const ValidationReport& losses, const ListeningReport& report,
                const std::vector<std::string>& notes, const std::string& page) {
  print_report(losses);
  for (const auto& board : report.boards()) print_scores(*board);
  for (const std::string& note : notes) fmt::print("note: {}\n", printable(note));
  fmt::print("\nreport: {}\n", page);
}

void print_json(const ValidationReport& losses, const ListeningReport& report,
                const std::vector<std::string>& notes, const std::string& page) {
  nlohmann::ordered_json out = {{"step", losses.step}, {"sets", nlohmann::ordered_json::object()}};
  for (const auto& [set, metrics] : losses.sets) out["sets"][set] = metrics;
  for (const auto& board : report.boards()) {
    nlohmann::ordered_json& set = out["sets"][board->name()];
    set["examples"] = board->num_examples();
    for (const auto& [name, value] : board->numbers()) set[name] = value;
  }
  out["notes"] = notes;
  out["report"] = page;
  fmt::print("{}\n", out.dump(2));
}

/// The folder of the run: that of the checkpoint, where the run has chosen its version.
std::string run_folder(const ValidateArguments& arguments, const RunOptions& settings) {
  const std::filesystem::path checkpoints =
      std::filesystem::path(arguments.checkpoint).parent_path();
  const bool is_in_run = checkpoints.filename() == "checkpoints" && checkpoints.has_parent_path();
  return settings.exp_manager.needs_version() && is_in_run ? checkpoints.parent_path().string()
                                                           : settings.exp_manager.run_folder();
}

/// The log file of the run folder, if the folder exists.
std::string log_file(const std::filesystem::path& folder) {
  return std::filesystem::is_directory(folder) ? (folder / "log.txt").string() : "";
}

ReportSummary summary_of(const ValidateArguments& arguments, const RunOptions& settings,
                         const ValidationReport& losses, const RunFolder& folder) {
  ReportSummary summary;
  // Prefer the folder's name to the default name of runs.
  const std::string folder_name = std::filesystem::path(folder.path()).filename().string();
  const bool is_named = settings.exp_manager.name != ExpManagerBlock().name;
  summary.title = is_named || folder_name.empty() ? settings.exp_manager.name : folder_name;
  summary.facts = {{"checkpoint", arguments.checkpoint},
                   {"steps", std::to_string(losses.step)},
                   {"model", settings.model.type}};
  if (arguments.ema) summary.facts.emplace_back("weights", "moving average (EMA)");
  summary.metrics_path = folder.file("metrics.jsonl");
  return summary;
}

/// The parts of a validation. Later members may refer to earlier ones.
struct ValidationParts {
  std::unique_ptr<Tokenizer> tokenizer;
  Validator::Sets sets;
  std::unique_ptr<Model> model;
  std::unique_ptr<ParallelStrategy> strategy;  // null when there is one process
  std::unique_ptr<Scorer> scorer;
  std::vector<NamedMetric> metrics;
};

ValidationParts build_parts(const ValidateArguments& arguments, const Run& setup,
                            const RunProcesses& processes) {
  const RunBuilder& builder = setup.builder();
  ValidationParts parts;
  check_same_parts(arguments.checkpoint, setup.config());  // check before reading its tokenizer
  if (processes.launch().size > 1) parts.strategy = build_strategy(setup, processes);
  parts.tokenizer = build_tokenizer(builder, processes, arguments.checkpoint);
  parts.sets = builder.validation_sources(parts.tokenizer.get());
  parts.metrics = builder.metrics();
  parts.model = builder.meta_model(parts.tokenizer.get(), arguments.checkpoint);
  const auto values = builder.initial_values(*parts.model, arguments.checkpoint);
  if (parts.strategy) {  // each rank reads its shards
    attach_strategy(*parts.strategy, *parts.model, *values);
    const std::vector<LocalShard> held = parts.strategy->parts(*parts.model);
    load_model(arguments.checkpoint, *parts.model, held);
    if (arguments.ema) load_average(arguments.checkpoint, held);
    parts.strategy->after_update(*parts.model);
  } else {
    values->fill(parts.model->named_parameters());
    load_model(arguments.checkpoint, *parts.model);
    if (arguments.ema) load_average(arguments.checkpoint, whole_parts(*parts.model));
  }
  builder.codec_of_codes().set(*parts.model);
  return parts;
}

ValidationSettings validation_settings(const ValidateArguments& arguments,
                                       const RunBuilder& builder, const ValidationParts& parts) {
  ValidationSettings validation;
  validation.limit_batches = arguments.limit_batches;
  validation.answers = Answers::kExamples;
  validation.scorer = parts.scorer.get();
  validation.strategy = parts.strategy.get();
  validation.precision = builder.precision();
  validation.device = builder.device();
  return validation;
}

/// Computes losses and answers on all ranks. Rank 0 gets all examples.
ValidationReport measure(const ValidateArguments& arguments, Validator& validator,
                         const ValidationParts& parts, const RunProcesses& processes) {
  ValidationReport losses = validator.run(steps_of_checkpoint(arguments.checkpoint));
  if (parts.strategy) {
    gather_examples(processes.world(), parts.strategy->mesh(), validator.examples());
  }
  return losses;
}

/// Writes the report and prints the scores, on rank 0.
void tell(const ValidateArguments& arguments, const Invocation& invocation,
          const RunOptions& settings, Validator& validator, const ValidationParts& parts,
          const ValidationReport& losses) {
  const RunFolder folder(run_folder(arguments, settings));
  ReportOptions options;
  if (const auto* speech = find_capability<AnswersSpeech>(*parts.model)) {
    options.frame_s = speech->frame_length_s();
  } else if (auto* const speaking = find_capability<HasCodec>(*parts.model)) {
    options.frame_s = 1 / speaking->codec().shape().frame_rate_hz();
  }
  options.metrics = parts.metrics;
  const std::string where = arguments.report.empty() ? folder.report() : arguments.report;
  ListeningReport report(where, options);
  for (ReportExample& example : validator.examples()) report.add(example);
  ReportSummary summary = summary_of(arguments, settings, losses, folder);
  if (parts.scorer != nullptr) summary.notes = parts.scorer->notes();
  const std::string page = report.finish(summary).string();
  if (invocation.json) {
    print_json(losses, report, summary.notes, page);
  } else {
    print_text(losses, report, summary.notes, page);
  }
}

int validate(const ValidateArguments& arguments, const Invocation& invocation, const Run& setup,
             const RunProcesses& processes) {
  const RunBuilder& builder = setup.builder();
  const RunOptions& settings = builder.settings();
  const bool speaks = processes.is_first();
  std::ofstream nowhere;
  Console console(speaks ? static_cast<std::ostream&>(std::cerr) : nowhere,
                  speaks && standard_error_is_terminal(), terminal_width());
  Log log(&console, {LogLevel::kInfo, speaks ? log_file(run_folder(arguments, settings)) : ""});
  setup.warnings().send_to([&log](const std::string& message) { log.warning(message); });
  log.info(fmt::format("loading {}", arguments.checkpoint));
  ValidationParts parts = build_parts(arguments, setup, processes);
  processes.first().run("run folder", [&] {  // fail early if it cannot be created
    if (!arguments.report.empty()) make_folders(arguments.report);
    return RunFolder(run_folder(arguments, settings)).path();
  });
  parts.scorer = prepared_scorer(builder, parts.tokenizer.get(), parts.sets);

  ProgressSettings bar_settings;
  bar_settings.title = "validate";
  bar_settings.unit = "batches";
  ProgressBar bar(console, bar_settings);
  ValidationSettings validation = validation_settings(arguments, builder, parts);
  validation.progress = [&](const std::string& what, int64_t done) {
    if (what == "batches") {
      bar.update(done);
    } else {
      console.print_line(fmt::format("{}: {}", what, done));
    }
  };
  Validator validator(*parts.model, parts.sets, validation);
  const ValidationReport losses = measure(arguments, validator, parts, processes);
  bar.finish();
  if (speaks) tell(arguments, invocation, settings, validator, parts, losses);
  return 0;
}

/// Errors: [io/exists].
void require_new_report(const ValidateArguments& arguments) {
  if (arguments.report.empty()) return;
  const std::filesystem::path folder = arguments.report;
  require_new({(folder / "index.html").string(), (folder / "predictions.jsonl").string()},
              arguments.force);
}

int run_validate(ValidateArguments arguments, const Invocation& invocation) {
  outlive_readers();
  take_checkpoint(arguments.config, arguments.checkpoint, "s2s-run validate");
  arguments.checkpoint = checkpoint_of(arguments.checkpoint);
  complete_config(arguments.config, arguments.checkpoint);
  require_new_report(arguments);
  Run setup(arguments.config, RunPurpose::kValidate, invocation, arguments.checkpoint);
  const std::unique_ptr<RunProcesses> processes =
      meet_other_ranks(setup, {{"--checkpoint", arguments.checkpoint},
                               {"--ema", arguments.ema ? "given" : "not given"},
                               {"--limit-batches", std::to_string(arguments.limit_batches)}});
  return processes->watched([&] { return validate(arguments, invocation, setup, *processes); });
}

}  // namespace

void setup_validate(const Command& program) {
  const Command command =
      program.command("validate", "evaluate a checkpoint: losses, metrics and a listening report");
  ValidateArguments& arguments = command.runs(run_validate);
  add_checkpoint_arguments(command, arguments.config, arguments.checkpoint);
  command.option(
      "--report", arguments.report,
      "report folder (default: report/ in the run folder, replacing the previous report)");
  command
      .option("--limit-batches", arguments.limit_batches, "maximum number of batches from each set")
      .positive();
  command.flag("--ema", arguments.ema,
               "evaluate the moving average of the weights (exp_manager.ema)");
  command.force(arguments.force);
  command.json("print JSON");
}

}  // namespace s2s::run
