// s2s-run runs page: the curves of runs as a page, also while they train.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/interrupt.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/command_line.h"
#include "s2s_run/runs/run_record.h"
#include "s2s_run/runs/runs_facts.h"
#include "s2s_run/runs/runs_page.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using Clock = std::chrono::steady_clock;

struct PageArguments {
  std::vector<std::string> folders;
  std::string output;
  bool follow = false;
  int every = 10;
  bool force = false;
};

/// Reading a long metrics.jsonl takes seconds: at most a tenth of the time goes into it.
constexpr int kRestPerWork = 9;

bool is_done(const RunRecord& run) {
  return run.max_steps() > 0 && run.last_step() >= run.max_steps();
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local_time(std::time(nullptr)));
}

/// What the runs have written since the last look, by the size of each file.
std::vector<uintmax_t> sizes_of(const std::vector<RunRecord>& runs) {
  std::vector<uintmax_t> sizes;
  std::error_code ignored;
  for (const RunRecord& run : runs) {
    sizes.push_back(std::filesystem::file_size(run.metrics_path(), ignored));
  }
  return sizes;
}

/// The runs below the folders; with `waits`, none is no error: training has not begun.
std::vector<RunRecord> find_runs_below(const std::vector<std::string>& folders, bool waits) {
  try {
    return read_runs(folders, Validations::kLeaveOut);
  } catch (const Error& error) {
    if (waits && error.id() == "run/none") return {};
    throw;
  }
}

void rest(Clock::duration time, const InterruptWatch& interrupt) {
  const auto end = Clock::now() + time;
  while (!interrupt.requested() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// Writes the page again whenever a run has gone on, until all have made their last step or ^C.
void follow(const PageArguments& arguments, const std::string& path) {
  const InterruptWatch interrupt;
  std::vector<uintmax_t> seen;
  bool says_waiting = false;
  while (true) {
    const Clock::time_point begin = Clock::now();
    const std::vector<RunRecord> runs = find_runs_below(arguments.folders, true);
    const bool is_end =
        interrupt.requested() || (!runs.empty() && std::all_of(runs.begin(), runs.end(), is_done));
    if (runs.empty() && !says_waiting) {
      says_waiting = true;
      fmt::print("waiting for a run in {}\n", printable_name(arguments.folders.front()));
      std::fflush(stdout);
    }
    if (const auto sizes = sizes_of(runs); !runs.empty() && (is_end || sizes != seen)) {
      const std::string sentence = "As of " + now_text() + (is_end ? "." : ", while training.");
      write_runs_page(runs, {{sentence}, is_end ? 0 : arguments.every}, path);
      if (seen.empty()) {
        fmt::print("writing {}; open it in a browser, it follows\n", printable_name(path));
        std::fflush(stdout);
      }
      seen = sizes;
    }
    if (is_end) return;
    const Clock::duration work = Clock::now() - begin;
    rest(std::max<Clock::duration>(std::chrono::seconds(arguments.every), kRestPerWork * work),
         interrupt);
  }
}

int make_page(const PageArguments& arguments, const Invocation&) {
  const std::string path =
      arguments.output.empty()
          ? (std::filesystem::path(arguments.folders.front()) / "curves.html").string()
          : arguments.output;
  if (!arguments.force) require_own_page(path);
  if (arguments.follow) {
    follow(arguments, path);
  } else {
    write_runs_page(find_runs_below(arguments.folders, false), {{"As of " + now_text() + "."}, 0},
                    path);
  }
  fmt::print("wrote {}\n", printable_name(path));
  return 0;
}

}  // namespace

void setup_runs_page(const Command& group) {
  const Command command =
      group.command("page", "write the learning curves of runs as an HTML page, also in training");
  PageArguments& arguments = command.runs(make_page);
  command.option("folders", arguments.folders, "run folders, or folders that contain some")
      .required();
  command.option("--output", arguments.output,
                 "HTML file (default: curves.html in the first folder, replacing such a page)");
  command.flag("--follow", arguments.follow,
               "write it again while the runs train; the browser reads it again by itself");
  command.option("--every", arguments.every, "with --follow: seconds between two looks")
      .between(1, 3600)
      .shows_default();
  command.force(arguments.force);
}

}  // namespace s2s::run
