#pragma once
// Shows the progress of a training run: a bar on a terminal, plain lines otherwise. Everything is
// also written to log.txt.

#include "base/log.h"
#include "base/progress_bar.h"
#include "profile/processor_waits.h"
#include "train/step_report.h"

namespace s2s::run {

class ProgressObserver : public RunObserver {
 public:
  /// Both must outlive the observer.
  ProgressObserver(Console& console, Log& log, int64_t first_step, int64_t max_steps,
                   int64_t log_every_n_steps);
  void on_step(const StepReport& report) override;
  void on_skipped_step(const SkippedStep& skipped) override;
  void on_saved_step(int64_t step, const std::string& reason, const std::string& file) override;
  void on_validation(const ValidationReport& report) override;
  void on_checkpoint(int64_t steps_done, const std::string& folder) override;
  void on_end(int64_t steps_done) override;

 private:
  /// Returns how long steps wait for data and for a processor, or "" when the shares are small.
  std::string waiting();

  Log& log_;
  int64_t first_step_;
  ProgressBar bar_;
  int64_t log_every_n_steps_;
  ProcessorWaits processor_waits_;
  double data_wait_s_ = 0, step_s_ = 0;  // running means
};

}  // namespace s2s::run
