#pragma once
// The folder of a run (a contract; see core/docs/start/runs.md): metrics.jsonl, config.yaml,
// manifest.json, checkpoints/, report/, log.txt.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "train/step_report.h"

namespace s2s {

class RunFolder {
 public:
  /// Makes the folder, durably. Errors: [run/folder].
  explicit RunFolder(std::string path);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoints() const { return file("checkpoints"); }
  std::string report() const { return file("report"); }

  /// Removes what files that a killed process was writing have left.
  void remove_left_overs() const;
  /// Errors: [run/not-empty] when metrics or checkpoints are there. For a run that begins anew.
  void check_unused() const;
  void write_config(const std::string& yaml) const;
  void write_manifest(const nlohmann::json& manifest) const;
  /// Copies files into a folder of the run; those that lie there already stay. Errors:
  /// [run/folder], [io/write].
  void keep_copies(const std::string& name, const std::vector<std::string>& files) const;

 private:
  std::string path_;
};

/// Appends a line per step to metrics.jsonl. A resumed run first drops the lines of steps that the
/// checkpoint does not hold, so that the file reads as if the run had never been cut. Errors:
/// [run/folder].
class MetricsLog : public RunObserver {
 public:
  /// `steps_done`: optimizer steps that are kept. `warn` hears [run/metrics] of lines that are
  /// none, which are dropped, and of steps that the checkpoint has and the file lacks.
  MetricsLog(std::string path, int64_t steps_done,
             const std::function<void(const std::string&)>& warn = {});
  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;

 private:
  void keep_lines(int64_t steps_done, const std::function<void(const std::string&)>& warn) const;
  void append(const nlohmann::ordered_json& line) const;
  std::string path_;
};

/// The numbers of a line of metrics.jsonl, in its order.
std::vector<std::pair<std::string, double>> numbers_of(const StepReport& report);

}  // namespace s2s
