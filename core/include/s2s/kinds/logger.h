#pragma once
// RunLogger: receives the values, the configuration and the validation examples of a run. Kind
// `logger`.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace s2s {

/// The run that a logger records.
struct LoggedRun {
  std::string id;      // eight characters of a-z and 0-9; a resumed run keeps its id
  std::string name;    // exp_manager.name, or the last part of the run folder
  std::string folder;  // absolute path of the run folder
  int64_t steps_done = 0;
  int64_t max_steps = 0;
  std::string config_yaml;  // as in the run folder: resolved, without secrets
  /// The values of the configuration by dotted path ("model.optimizer.lr").
  std::vector<std::pair<std::string, std::string>> hyper_parameters;
};

/// A clip.
struct LoggedAudio {
  std::string wav;  // a WAV file: mono, 16 bits
  int64_t sample_rate_hz = 0;
  int64_t num_samples = 0;
};

/// A picture.
struct LoggedImage {
  std::string png;  // a PNG file
  int64_t width = 0;
  int64_t height = 0;
};

/// How many elements of a tensor lie in each interval.
struct LoggedHistogram {
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> counts;
  std::vector<double> limits;  // upper limits of the intervals; each begins where the last ends
};

/// Receives what a run reports, on rank 0. A logger that throws gets nothing more, and training
/// continues. Steps count from 1: they are the optimizer steps done. All functions but `log` and
/// `flush` do nothing by default.
class RunLogger {
 public:
  virtual ~RunLogger();
  /// Called once, before all others: open files here, not in the constructor, whose errors end the
  /// run. A resumed run repeats the steps after run.steps_done, so drop what an earlier process
  /// logged of them.
  virtual void start(const LoggedRun& run);
  /// Logs the values of an optimizer step or of a validation, by name.
  virtual void log(int64_t step, const std::map<std::string, double>& values) = 0;
  /// `tag`: a name with slashes ("val_dev/0/answer"), the same at every validation.
  virtual void log_text(int64_t step, const std::string& tag, const std::string& text);
  virtual void log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio);
  virtual void log_image(int64_t step, const std::string& tag, const LoggedImage& image);
  virtual void log_histogram(int64_t step, const std::string& tag,
                             const LoggedHistogram& histogram);
  /// Writes all logged values to storage before it returns. Called at checkpoints and at the end.
  virtual void flush() = 0;
  /// Called at the end, unless an error ends the run. `is_complete`: all steps are done; otherwise
  /// the run was stopped and can be resumed.
  virtual void finish(bool is_complete);
};

}  // namespace s2s
