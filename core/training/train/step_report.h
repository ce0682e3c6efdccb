#pragma once
// Reports and observers of a run. The trainer itself prints nothing.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/logger.h"
#include "s2s/kinds/scorer.h"
#include "train/device_memory.h"

namespace s2s {

enum class TrainingPhase {
  kData,      // the batches
  kToDevice,  // their copies to the device
  kForward,
  kBackward,
  kUpdate,
  kReport,  // reading the numbers of a step, metrics, loggers, the console
  kValidate,
  kSave
};
constexpr size_t kNumTrainingPhases = 8;
inline const char* to_string(TrainingPhase phase) {
  constexpr std::array<const char*, kNumTrainingPhases> kNames = {
      "data", "host to device", "forward", "backward", "update", "report", "validate", "save"};
  return kNames[static_cast<size_t>(phase)];
}

/// Seconds of the phases of a rank.
struct PhaseTimes {
  std::array<double, kNumTrainingPhases> phase_s{};  // without the next one
  double communication_s = 0;                        // waiting for collectives, in all phases

  double& of(TrainingPhase phase) { return phase_s[static_cast<size_t>(phase)]; }
  double of(TrainingPhase phase) const { return phase_s[static_cast<size_t>(phase)]; }
  double sum() const;
  void add(const PhaseTimes& other);
};

/// One optimizer step, over all data ranks.
struct StepReport {
  int64_t step = 0;  // 0-based
  double loss = 0;
  std::map<std::string, double> parts;  // text_loss, audio_loss, ...
  double grad_norm = 0;                 // before clipping; not finite: the update was skipped
  double learning_rate = 0;
  double loss_scale = 0;      // factor on the losses; 0: the run uses no loss scale
  int64_t skipped_steps = 0;  // since the start of the run
  int64_t frames = 0;         // valid predicted frames of all micro-batches
  int64_t loss_frames = 0;    // the loss normalizer of this rank's micro-batches
  int64_t padded_frames = 0;  // frames of all micro-batches, including padding
  int64_t tokens = 0;
  int64_t batch_size = 0;  // rows of all micro-batches
  int64_t batch_hash = 0;  // of the ids of all rows, in any order: equal for equal batches
  double audio_s = 0;      // user audio of all micro-batches, without padding
  double model_flops = 0, encoder_flops = 0;  // as in BatchWeight
  double peak_flops = 0;                      // what all ranks can do in a second; 0: unknown
  double step_time_s = 0;
  double data_wait_s = 0;     // of it: waiting for batches, the longest of the data ranks
  PhaseTimes phases;          // of this rank; kReport, kValidate and kSave are from before the step
  int64_t left_out_cuts = 0;  // bad cuts that were left out so far
  DeviceMemory device_memory;
  /// The share of peak_flops that the products of forward and backward took.
  double utilization() const { return (model_flops + encoder_flops) / step_time_s / peak_flops; }
};

/// An update that was skipped because its gradients were not finite.
struct SkippedStep {
  int64_t step = 0;  // 0-based
  double grad_norm = 0;
  double loss_scale = 0;               // as in StepReport
  int64_t in_a_row = 1;                // consecutive skipped updates, including this one
  std::vector<std::string> batch_ids;  // of all data ranks
};

/// A validated dialogue, for loggers.
struct ValidationExample {
  std::string set;
  std::string id;
  std::vector<std::pair<std::string, std::string>> texts;  // "reference", "text channel", ...
  AudioClip user, answer;
};

struct ValidationReport {
  int64_t step = 0;                                           // optimizer steps done
  std::map<std::string, std::map<std::string, double>> sets;  // name -> metric -> value
  // On rank 0, for loggers.
  std::vector<ValidationExample> examples;
  std::map<std::string, LoggedHistogram> histograms;  // by the name of the parameter
};

/// Receives the events of a training run. The trainer's thread calls the observers in the order in
/// which they were added.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Called when a phase begins. `step` is 0-based.
  virtual void on_phase(int64_t /*step*/, TrainingPhase /*phase*/) {}
  /// Called when the batch of a step is available. `step` is 0-based. `ids`: those of this rank's
  /// rows, each followed by a newline.
  virtual void on_batch(int64_t /*step*/, const std::string& /*ids*/) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_skipped_step(const SkippedStep&) {}
  /// Called when a failed step was saved. `step` is 0-based.
  virtual void on_saved_step(int64_t /*step*/, const std::string& /*reason*/,
                             const std::string& /*file*/) {}
  virtual void on_validation(const ValidationReport&) {}
  virtual void on_checkpoint(int64_t /*steps_done*/, const std::string& /*folder*/) {}
  virtual void on_end(int64_t /*steps_done*/) {}
};

}  // namespace s2s
