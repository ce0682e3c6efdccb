#pragma once
// MLflow's file store.

#include <map>
#include <optional>
#include <string>

#include "record_file.h"
#include "s2s/kinds/logger.h"
#include "s2s/options.h"

namespace s2s::trackers {

struct MlflowOptions {
  std::string experiment_name = "s2s";
  std::optional<std::string> run_name, tracking_uri, save_dir, artifact_location, run_id;
  Config tags;
  std::string prefix;
  double flush_secs = 10;
  void visit(OptionVisitor& v) {
    v("experiment_name", experiment_name, "experiment of the run");
    v("run_name", run_name, "name of the run; null: exp_manager.name");
    v("save_dir", save_dir,
      "folder of the file store; null: the folder mlruns beside the run folder, for all runs "
      "there");
    v("tracking_uri", tracking_uri, "file:PATH or a path; replaces save_dir");
    v("artifact_location", artifact_location,
      "folder of the artifacts of a new experiment; null: in the file store");
    v("run_id", run_id, "id of the run; null: one that a resumed run keeps");
    v("tags", tags, "map of tags of the run");
    v("prefix", prefix, "put before the name of each value, with a hyphen");
    v("flush_secs", flush_secs, "maximum age of values that are not in the files yet, in seconds",
      at_least(0));
  }
};

/// Parameters are the values of the configuration, artifacts are config.yaml and the texts, audio
/// and images of validations. A resumed run removes the values of the steps that it repeats.
class MlflowLogger : public RunLogger {
 public:
  /// Errors: [logger/tracking-uri] for a URI that is no local path.
  explicit MlflowLogger(MlflowOptions options);
  ~MlflowLogger() override;
  void start(const LoggedRun& run) override;
  void log(int64_t step, const std::map<std::string, double>& values) override;
  void log_text(int64_t step, const std::string& tag, const std::string& text) override;
  void log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) override;
  void log_image(int64_t step, const std::string& tag, const LoggedImage& image) override;
  void flush() override;
  void finish(bool is_complete) override;

 private:
  enum class Status { kRunning = 1, kFinished = 3, kFailed = 4, kKilled = 5 };
  /// Finds the experiment by its name, or makes it; returns its folder.
  std::string open_experiment(const std::string& store);
  void write_meta(Status status) const;
  void write_tags(const LoggedRun& run) const;
  void keep_metrics(int64_t steps_done) const;
  void write_artifact(int64_t step, const std::string& tag, const char* extension,
                      const std::string& bytes) const;

  MlflowOptions options_;
  std::string folder_, artifacts_;
  std::string experiment_id_, run_id_, run_name_;
  int64_t start_ms_ = 0;
  std::map<std::string, std::string> lines_;  // not in the files yet, by metric
  Timer timer_;
  bool is_finished_ = false;
};

}  // namespace s2s::trackers
