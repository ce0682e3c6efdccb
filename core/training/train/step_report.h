#pragma once
// What a run tells the world, and who listens. The trainer prints nothing itself.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/device_memory.h"

namespace s2s {

/// One optimizer step, of all data ranks together.
struct StepReport {
  int64_t step = 0;  // 0-based
  double loss = 0;
  std::map<std::string, double> parts;  // text_loss, audio_loss, ...
  double grad_norm = 0;                 // before clipping; not finite: the update was skipped
  double learning_rate = 0;
  double loss_scale = 0;      // that the losses were multiplied by; 0: of a run without
  int64_t skipped_steps = 0;  // of the run so far
  int64_t frames = 0;         // valid frames that were predicted, all micro-batches
  int64_t padded_frames = 0;  // frames of the padded rectangles
  int64_t tokens = 0;
  int64_t batch_size = 0;  // rows, all micro-batches
  double step_time_s = 0;
  double data_wait_s = 0;     // of it: waiting for batches, the longest of the data ranks
  int64_t left_out_cuts = 0;  // bad cuts that were left out so far
  DeviceMemory device_memory;
};

/// An update that was skipped because its gradients were not finite.
struct SkippedStep {
  int64_t step = 0;  // 0-based
  double grad_norm = 0;
  double loss_scale = 0;               // as in StepReport
  int64_t in_a_row = 1;                // this one and those right before it
  std::vector<std::string> batch_ids;  // of all data ranks
};

/// One validation of all named sets.
struct ValidationReport {
  int64_t step = 0;                                           // optimizer steps done
  std::map<std::string, std::map<std::string, double>> sets;  // name -> metric -> value
};

/// What a trainer does at the moment.
enum class TrainingPhase { kData, kForwardBackward, kUpdate, kValidate, kSave };
inline const char* to_string(TrainingPhase phase) {
  constexpr const char* kNames[] = {"data", "forward and backward", "update", "validate", "save"};
  return kNames[static_cast<size_t>(phase)];
}

/// Hears of a training run, on the trainer's thread, in the order in which observers were added.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// A phase begins. step: 0-based.
  virtual void on_phase(int64_t /*step*/, TrainingPhase /*phase*/) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_skipped_step(const SkippedStep&) {}
  virtual void on_validation(const ValidationReport&) {}
  virtual void on_checkpoint(int64_t /*steps_done*/, const std::string& /*folder*/) {}
  virtual void on_end(int64_t /*steps_done*/) {}
};

}  // namespace s2s
