#pragma once
// Reads run folders (core/docs/start/runs.md) to list and compare runs.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace s2s::run {

/// The contents of a run folder.
struct RunRecord {
  std::string path;
  std::string name;         // short, unique among the runs that were read together
  nlohmann::json manifest;  // an empty object when there is none
  std::vector<std::pair<std::string, std::string>> config;  // path and text of each value
  nlohmann::json last;  // the line of the last step in metrics.jsonl; null: there is none
  /// The last line of each validation set, if requested.
  std::map<std::string, nlohmann::json> validations;
  std::string checkpoint;  // the newest one, or ""
  int64_t data_size = 1;   // data ranks, from the newest checkpoint

  /// The value of a configuration key, or null.
  const std::string* value(const std::string& key) const;
  int64_t max_steps() const;
  int64_t last_step() const { return last.is_null() ? 0 : last.value("step", int64_t{0}); }
  std::string metrics_path() const { return path + "/metrics.jsonl"; }
  /// A number of a step's line.
  static std::optional<double> number(const nlohmann::json& line, const std::string& key);
};

/// Reads each folder that is a run, and else the runs below it, sorted by path.
/// Of metrics.jsonl only the last lines are read.
/// Errors: [run/none] for a folder without a run; [io/line], [io/read] of metrics.jsonl; those of
/// reading a configuration.
enum class Validations { kLeaveOut, kRead };
std::vector<RunRecord> read_runs(const std::vector<std::string>& folders, Validations validations);

/// Keys whose values differ between some of the runs, with the value of each run ("-": missing), in
/// the order of the configurations. Where a run writes is no difference.
struct ConfigDifference {
  std::string key;
  std::vector<std::string> values;
};
std::vector<ConfigDifference> config_differences(const std::vector<RunRecord>& runs);

/// The same of the programs: versions, commit, host, plugin files.
std::vector<ConfigDifference> program_differences(const std::vector<RunRecord>& runs);

/// Where two runs part.
struct Parting {
  struct Change {
    int64_t step = 0;
    std::string key;
    std::string first, second;  // the values
  };
  int64_t num_common = 0;      // steps that both runs have
  std::optional<Change> loss;  // the first step whose loss differs
  bool has_batches = false;    // both runs recorded what was in the batch of that step
  bool is_same_batch = false;  // the batch of that step has the same ids
  /// The first step at which each other value differs, up to the step of the loss, in order.
  std::vector<Change> before;
};
/// Reads metrics.jsonl of both line by line. A line whose step is before that of the line above it
/// does not count. Errors: [io/line], [io/read].
/// rtol: largest relative difference of two numbers that count as equal.
Parting find_parting(const RunRecord& first, const RunRecord& second, double rtol);

}  // namespace s2s::run
