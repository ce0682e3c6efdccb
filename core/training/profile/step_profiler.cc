#include "profile/step_profiler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "profile/device_trace.h"
#include "profile/nsys_capture.h"

namespace s2s::run {

StepProfiler::StepProfiler(ProfileBlock options, ProfiledRun run)
    : options_(std::move(options)), run_(std::move(run)) {
  const bool is_asked =
      options_.ranks.empty() ||
      std::find(options_.ranks.begin(), options_.ranks.end(), run_.rank) != options_.ranks.end();
  is_over_ = !options_.begin_step || !is_asked;
}

StepProfiler::~StepProfiler() {
  if (!is_on_) return;
  try {
    stop();  // an error ends the run: what there is helps to find it
  } catch (const std::exception&) {
    // The error that ends the run is the one to show.
  }
}

std::string StepProfiler::trace_file() const {
  return fmt::format("{}/profile/rank_{}.steps_{}-{}.pt.trace.json", run_.folder, run_.rank,
                     *options_.begin_step, options_.last_step());
}

void StepProfiler::on_phase(int64_t step, TrainingPhase phase) {
  phase_.reset();
  const bool is_after_step = phase == TrainingPhase::kValidate || phase == TrainingPhase::kSave;
  if (is_on_ && step + (is_after_step ? 1 : 0) > options_.last_step()) stop();
  if (is_over_) return;
  const bool begins = phase == TrainingPhase::kData && step >= *options_.begin_step;
  if (!is_on_ && begins && step <= options_.last_step()) start();
  if (!is_on_) return;
  phase_ = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  phase_->before(to_string(phase));
}

void StepProfiler::on_end(int64_t) {
  phase_.reset();
  if (is_on_) stop();
}

void StepProfiler::start() {
  is_on_ = true;
  const bool is_nsys = options_.tool == "nsys";
  if (is_nsys) {
    const std::string fault = switch_cuda_profiler(true);
    if (!fault.empty()) run_.warn("[run/profile] nsys records nothing of this run: " + fault);
    if (options_.nvtx_ranges) {
      const std::string no_ranges = start_nvtx_ranges(options_.shapes);
      has_nvtx_ = no_ranges.empty();
      if (!has_nvtx_) run_.warn("[run/profile] there are no NVTX ranges: " + no_ranges);
    }
  } else {
    make_folders(run_.folder + "/profile");
    start_device_trace(run_.device, options_.shapes);
  }
  if (is_nsys && !has_nvtx_) return;
  modules_ = std::make_unique<ModuleRanges>(*run_.model);
  if (run_.waits != nullptr) run_.waits->annotate(true);
}

void StepProfiler::end_ranges() {
  phase_.reset();
  modules_.reset();
  if (run_.waits != nullptr) run_.waits->annotate(false);
}

void StepProfiler::stop() {
  is_on_ = false;
  is_over_ = true;
  end_ranges();
  if (options_.tool == "nsys") {
    if (has_nvtx_) stop_nvtx_ranges();
    switch_cuda_profiler(false);
    return;
  }
  stop_device_trace(run_.device, trace_file());
  run_.info("profile " + trace_file());
}

}  // namespace s2s::run
