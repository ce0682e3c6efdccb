#include "s2s_run/data/shar_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

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
std::unique_ptr<data::CutRows> open_source(const SharJob& job, data::WriteSharOptions& shar,
                                           Console& console, const InterruptWatch& interrupt) {
  std::optional<ProgressBar> bar;
  files::OpenOptions options;
  options.place = files::OpenOptions::Place::kCacheFolder;
  options.on_progress = [&](const files::IndexProgress& progress) {
    if (interrupt.requested()) throw Stopped{};
    if (!bar) bar.emplace(console, ProgressSettings{"index", "parts", progress.total_bytes});
    bar->update(progress.done_bytes);
  };
  if (shar.skip_bad > 0) {
    // Large files are read again, by any thread.
    options.on_damage = [&, mutex = std::make_shared<std::mutex>()](const Error& error) {
      const std::lock_guard lock(*mutex);
      leave_out(error, shar);
    };
  }
  auto cuts = job.open(options);
  if (bar) bar->finish();
  return cuts;
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

data::WriteSharSummary write(const SharJob& job, data::WriteSharOptions& options, Console& console,
                             const InterruptWatch& interrupt) {
  for (const std::string& source : job.sources) {
    if (options.force) require_elsewhere(source, options.writer.folder);
  }
  const auto cuts = open_source(job, options, console, interrupt);
  if (job.opened) job.opened(cuts->size());
  ProgressBar bar(console,
                  ProgressSettings{job.title, "cuts", data::num_own_cuts(options, cuts->size())});
  options.stop = [&] { return interrupt.requested(); };
  options.on_progress = [&](int64_t done) { bar.update(done); };
  data::WriteSharSummary summary = data::write_shar(*cuts, options);
  bar.finish();
  return summary;
}

}  // namespace

void add_shard_options(const Command& command, data::WriteSharOptions& options) {
  command
      .option("--shard-size", options.shard_size,
              "cuts per shard; 0: a single shard without a number")
      .whole_number()
      .shows_default();
  command.option("--num-jobs", options.num_jobs, "number of threads; 0: one per processor")
      .between(0, 1024)
      .shows_default();
  command.option("--skip-bad", options.skip_bad, "skip up to this many cuts with an error")
      .whole_number()
      .shows_default();
}

data::WriteSharSummary write_shards(const SharJob& job, data::WriteSharOptions& options) {
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  const InterruptWatch interrupt("stopping; finished shards are kept\n");
  data::WriteSharSummary summary;
  try {
    summary = write(job, options, console, interrupt);
  } catch (const Stopped&) {
    summary.stopped = true;
  }
  warn_of_empty_fields(summary, options.writer.fields);
  return summary;
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

}  // namespace s2s::run
