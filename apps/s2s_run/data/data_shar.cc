// s2s-run data shar: writes cuts in Lhotse Shar format.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <thread>

#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "config/load_config.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "shar/write_shar.h"
#include "streams/input_source.h"
#include "streams/python_random.h"

namespace s2s::run {
namespace {

struct SharArguments {
  std::string source;
  std::vector<std::string> fields = {"recording=flac,target_audio=flac"};
  bool shuffle = false;
  int64_t seed = 0;
  bool plain_jsonl = false;
  data::WriteSharOptions options;
};

/// Thrown on ^C while the source is opened.
struct Stopped {};

/// Counts a bad cut as skipped, once, up to the limit.
void leave_out(const Error& error, data::WriteSharOptions& options) {
  std::vector<std::string>& known = options.left_out;
  if (std::find(known.begin(), known.end(), error.what()) != known.end()) return;
  if (static_cast<int64_t>(known.size()) >= options.skip_bad) throw error;
  known.emplace_back(error.what());
}

/// Opens the source and shows the progress of slow steps. Throws Stopped.
std::unique_ptr<data::CutRows> open_source(SharArguments& arguments, Console& console,
                                           const InterruptWatch& interrupt) {
  std::optional<ProgressBar> bar;
  files::OpenOptions options;
  options.place = files::OpenOptions::Place::kCacheFolder;
  options.on_progress = [&](const files::IndexProgress& progress) {
    if (interrupt.requested()) throw Stopped{};
    if (!bar) bar.emplace(console, ProgressSettings{"index", "parts", progress.total_bytes});
    bar->update(progress.done_bytes);
  };
  if (arguments.options.skip_bad > 0) {
    // Large files are read again, by any thread.
    options.on_damage = [&, mutex = std::make_shared<std::mutex>()](const Error& error) {
      const std::lock_guard lock(*mutex);
      leave_out(error, arguments.options);
    };
  }
  auto cuts = data::open_input_rows(arguments.source, options);
  if (bar) bar->finish();
  return cuts;
}

std::vector<int64_t> shuffled_rows(int64_t num_rows, int64_t seed) {
  std::vector<int64_t> rows(static_cast<size_t>(num_rows));
  std::iota(rows.begin(), rows.end(), 0);
  data::PythonRandom(seed).shuffle(rows);
  return rows;
}

/// Warns about fields that no cut has, which may be a typing error. Their files contain only
/// placeholders.
void warn_of_empty_fields(const data::WriteSharSummary& summary,
                          const std::vector<data::SharField>& fields) {
  if (summary.stopped || summary.kept_shards > 0 || summary.num_cuts == 0) return;
  for (size_t i = 0; i < summary.num_values.size(); ++i) {
    if (summary.num_values[i] > 0) continue;
    std::fprintf(stderr,
                 "warning: [data/shar-field] no cut has the field '%s', so its files are empty; "
                 "expected a recording, an array or a custom value of the cuts; fix --fields\n",
                 printable_name(fields[i].name).c_str());
  }
}

/// Keys of a data set's block that choose or change cuts when a run reads them.
constexpr std::array kKeysOfReading = {"channel_selector",
                                       "min_duration",
                                       "max_duration",
                                       "min_tps",
                                       "max_tps",
                                       "max_cer",
                                       "keep",
                                       "limit",
                                       "sample_rate",
                                       "noise_path",
                                       "perturb_speed",
                                       "truncate_duration",
                                       "pad_min_duration",
                                       "rir_enabled",
                                       "concatenate",
                                       "concatenate_samples",
                                       "compression_enabled",
                                       "lowpass_enabled",
                                       "min_context_speaker_similarity",
                                       "cut_into_windows_duration"};

/// A Shar folder has the cuts as the source has them: says which keys of a configuration did not
/// count, because a run that reads the folder needs them again.
void note_keys_of_reading(const std::string& source) {
  const bool is_yaml = source.ends_with(".yaml") || source.ends_with(".yml");
  if (!is_yaml || source.starts_with("pipe:")) return;
  Config block;
  try {
    const Config top = load_config(source);
    const Config* const train = top.find_path("data.train_ds");
    block = train != nullptr ? *train : top;
  } catch (const Error&) {
    return;  // a list of sources has no such keys
  }
  std::vector<std::string> found;
  for (const char* const key : kKeysOfReading) {
    const Config* const value = block.find(key);
    const bool is_off =
        value == nullptr || value->is_null() || (value->is_scalar() && value->text() == "false");
    if (!is_off) found.emplace_back(key);
  }
  if (found.empty()) return;
  std::fprintf(stderr,
               "note: cuts are written whole, with all channels; these keys of %s have no effect "
               "here, and a run that reads the folder has to have them: %s\n",
               printable_name(source).c_str(), joined(found, ", ").c_str());
}

void print_summary(const data::WriteSharSummary& summary, const std::string& folder, bool json) {
  for (const std::string& message : summary.skipped) {
    std::fprintf(stderr, "skipped: %s\n", printable(message).c_str());
  }
  if (json) {
    const nlohmann::ordered_json out = {{"folder", folder},
                                        {"cuts", summary.num_cuts},
                                        {"shards", summary.num_shards},
                                        {"kept_shards", summary.kept_shards},
                                        {"changed_shards", summary.changed_shards},
                                        {"bytes", summary.num_bytes},
                                        {"hours", summary.duration_s / 3600},
                                        {"skipped", summary.skipped.size()},
                                        {"stopped", summary.stopped}};
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  fmt::print("{} {}: {} ({:.2f} h, {:.1f} MB) in {}",
             summary.stopped ? "stopped; finished in" : "wrote", folder,
             counted(summary.num_cuts, "cut"), summary.duration_s / 3600,
             static_cast<double>(summary.num_bytes) / 1e6, counted(summary.num_shards, "shard"));
  if (summary.kept_shards > 0) {
    std::printf(", %lld already existed", static_cast<long long>(summary.kept_shards));
  }
  if (summary.changed_shards > 0) {
    fmt::print(", {} written again because cuts or audio files had changed",
               counted(summary.changed_shards, "shard"));
  }
  if (!summary.skipped.empty()) {
    fmt::print(", {} skipped", counted(static_cast<int64_t>(summary.skipped.size()), "cut"));
  }
  std::printf(summary.stopped ? "; run the same command to continue\n" : "\n");
}

/// Refuses --force if it would remove the source.
void require_elsewhere(const std::string& source, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path from = fs::weakly_canonical(source, ignored), to = fs::weakly_canonical(folder);
  const bool is_there = from == to || from.parent_path() == to;
  if (!is_there || !fs::exists(from, ignored)) return;
  throw Error(ExitCode::kData, "data/shar-out",
              fmt::format("{} is the source, and --force would remove it; choose an output folder "
                          "other than the source",
                          printable_name(folder)));
}

data::WriteSharSummary write(SharArguments& arguments, Console& console,
                             const InterruptWatch& interrupt) {
  data::WriteSharOptions& options = arguments.options;
  data::allow_commands_of_source(arguments.source);
  if (options.force) require_elsewhere(arguments.source, options.writer.folder);
  const auto cuts = open_source(arguments, console, interrupt);
  if (arguments.shuffle) {
    options.seed = arguments.seed;
    options.order = shuffled_rows(cuts->size(), arguments.seed);
  }
  ProgressBar bar(console, ProgressSettings{"shar", "cuts", cuts->size()});
  options.stop = [&] { return interrupt.requested(); };
  options.on_progress = [&](int64_t done) { bar.update(done); };
  data::WriteSharSummary summary = data::write_shar(*cuts, options);
  bar.finish();
  return summary;
}

int run_shar(SharArguments arguments, const Invocation& invocation) {
  data::WriteSharOptions& options = arguments.options;
  if (options.num_jobs == 0) options.num_jobs = std::max(1U, std::thread::hardware_concurrency());
  options.writer.fields =
      data::parse_shar_fields(fmt::format("{}", fmt::join(arguments.fields, ",")));
  options.writer.compress_jsonl = !arguments.plain_jsonl;
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  const InterruptWatch interrupt("stopping; finished shards are kept\n");
  data::WriteSharSummary summary;
  try {
    summary = write(arguments, console, interrupt);
  } catch (const Stopped&) {
    summary.stopped = true;
  }
  warn_of_empty_fields(summary, options.writer.fields);
  note_keys_of_reading(arguments.source);
  print_summary(summary, options.writer.folder, invocation.json);
  return static_cast<int>(summary.stopped ? ExitCode::kStopped : ExitCode::kOk);
}

void add_options(const Command& command, SharArguments& arguments) {
  data::WriteSharOptions& options = arguments.options;
  command
      .option("source", arguments.source,
              "manifest of cuts (.jsonl, .jsonl.gz, pipe:CMD, or a pattern with {}), Shar folder, "
              "NeMo manifest, input_cfg or run configuration (YAML)")
      .required();
  command.option("out", options.writer.folder, "folder to write").required();
  command
      .option("--fields", arguments.fields,
              "NAME=FORMAT, separated by commas or repeated; wav, flac, mp3, opus, ogg, "
              "original; numpy; "
              "jsonl")
      .shows_default();
  command
      .option("--shard-size", options.shard_size,
              "cuts per shard; 0: a single shard without a number")
      .whole_number()
      .shows_default();
  command.option("--num-jobs", options.num_jobs, "number of threads; 0: one per processor")
      .between(0, 1024)
      .shows_default();
  command.flag("--shuffle", arguments.shuffle, "shuffle the cuts");
  command
      .option("--seed", arguments.seed,
              "random seed of --shuffle, as in Python's random.Random(SEED)")
      .shows_default();
  command.flag("--plain-jsonl", arguments.plain_jsonl,
               "write cuts and values without gzip compression");
  command.flag("--index", options.writer.make_indexes,
               "also write .idx files; Lhotse before 2.0 cannot read such a folder");
  command.option("--skip-bad", options.skip_bad, "skip up to this many cuts with an error")
      .whole_number()
      .shows_default();
}

}  // namespace

void setup_data_shar(const Command& group) {
  const Command command = group.command(
      "shar", "write cuts in Lhotse Shar format; a second run continues an interrupted one");
  add_allow_commands(command);
  SharArguments& arguments = command.runs(run_shar);
  command.force(arguments.options.force);
  arguments.options.num_jobs = 0;
  add_options(command, arguments);
  command.json("print the summary as JSON");
}

}  // namespace s2s::run
