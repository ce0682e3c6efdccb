#pragma once
// The run folder (its format is a contract; see core/docs/start/runs.md): metrics.jsonl,
// config.yaml, manifest.json, checkpoints/, report/, log.txt.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "train/step_report.h"

namespace s2s {

class RunFolder {
 public:
  /// Creates the folder and syncs it to disk. Errors: [run/folder].
  explicit RunFolder(std::string path);
  /// One that is not created.
  static RunFolder unmade(std::string path);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoints() const { return file("checkpoints"); }
  std::string report() const { return file("report"); }

  /// Removes the partial files of a process that was killed while it wrote them.
  void remove_left_overs() const;
  /// Checks that the folder has no metrics and no checkpoints. Call it for a new run.
  /// Errors: [run/not-empty].
  void check_unused() const;
  void write_config(const std::string& yaml) const;
  void write_manifest(const nlohmann::json& manifest) const;
  /// Copies files into a subfolder of the run. Files that already exist there are kept.
  /// Errors: [run/folder], [io/write].
  void keep_copies(const std::string& name, const std::vector<std::string>& files) const;
  /// Checks that `keep_copies` finds the files. Errors: [run/folder].
  void check_copies(const std::string& name, const std::vector<std::string>& files) const;

 private:
  RunFolder() = default;
  std::string path_;
};

/// Appends a line per step to metrics.jsonl. A resumed run first drops the lines of steps after the
/// checkpoint, so that the file equals that of an uninterrupted run.
/// Errors: [run/folder].
class MetricsLog : public RunObserver {
 public:
  /// `steps_done`, `repeats_validation`: the lines that are kept (cut_metrics). `warn` receives
  /// [run/metrics] for invalid lines, which are dropped, and for missing lines of steps that the
  /// checkpoint includes.
  MetricsLog(std::string path, int64_t steps_done,
             const std::function<void(const std::string&)>& warn = {},
             bool repeats_validation = false);
  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  /// Called with each line that was written. Optional.
  std::function<void(const std::string& line)> on_line;

 private:
  void keep_lines(int64_t steps_done, bool repeats_validation,
                  const std::function<void(const std::string&)>& warn) const;
  void append(const nlohmann::ordered_json& line) const;
  std::string path_;
};

/// Returns the names and values of a metrics.jsonl line, in the order of the file.
std::vector<std::pair<std::string, double>> numbers_of(const StepReport& report);

}  // namespace s2s
