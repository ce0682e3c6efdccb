#pragma once
// Records some steps of a run with a profiler (trainer.profile).

#include <ATen/record_function.h>

#include <functional>
#include <memory>
#include <string>

#include "comm/comm_waits.h"
#include "config/run_blocks.h"
#include "profile/module_ranges.h"
#include "train/step_report.h"

namespace s2s::run {

/// What a profiler of a rank needs. Not owned.
struct ProfiledRun {
  Block* model = nullptr;
  CommWaits* waits = nullptr;  // null: a single process
  at::Device device = at::kCPU;
  int64_t rank = 0;
  std::string folder;  // of the run
  std::function<void(const std::string&)> info, warn;
};

/// Ranges of the profile are the phases of a step, the modules of the model, and waiting for
/// collectives. With `tool: trace` the profile is FOLDER/profile/rank_R.steps_B-E.pt.trace.json.
class StepProfiler : public RunObserver {
 public:
  StepProfiler(ProfileBlock options, ProfiledRun run);
  ~StepProfiler() override;
  StepProfiler(const StepProfiler&) = delete;
  StepProfiler& operator=(const StepProfiler&) = delete;

  void on_phase(int64_t step, TrainingPhase phase) override;
  void on_end(int64_t steps_done) override;

 private:
  void start();
  void stop();
  void end_ranges();
  std::string trace_file() const;

  ProfileBlock options_;
  ProfiledRun run_;
  bool is_on_ = false, is_over_ = false, has_nvtx_ = false;
  std::unique_ptr<ModuleRanges> modules_;
  std::unique_ptr<at::RecordFunction> phase_;
};

}  // namespace s2s::run
