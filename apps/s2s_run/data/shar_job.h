#pragma once
// What the commands that write Shar have in common: `data shar` and `data encode`.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "s2s_run/subcommands.h"
#include "shar/write_shar.h"

namespace s2s::run {

struct SharJob {
  std::string title;                 // of the progress bar
  std::vector<std::string> sources;  // files and folders that --force must not remove
  std::function<std::unique_ptr<data::CutRows>(const files::OpenOptions&)> open;
  /// Called with the number of cuts before they are written; may be empty.
  std::function<void(int64_t num_cuts)> opened = {};
};

/// Adds --shard-size, --num-jobs and --skip-bad.
void add_shard_options(const Command& command, data::WriteSharOptions& options);

/// Opens the source and writes the shards, with progress. ^C stops after the current cuts; finished
/// shards are kept. Warns about fields that no cut has.
data::WriteSharSummary write_shards(const SharJob& job, data::WriteSharOptions& options);

/// Prints the summary as text or as JSON, and the skipped cuts to standard error.
void print_summary(const data::WriteSharSummary& summary, const std::string& folder, bool json);

}  // namespace s2s::run
