#pragma once
// What a run tells the world, and who listens. The trainer prints nothing itself.

#include <cstdint>
#include <map>
#include <string>

namespace s2s {

/// One optimizer step.
struct StepReport {
  int64_t step = 0;  // 0-based
  double loss = 0;
  std::map<std::string, double> parts;  // text_loss, audio_loss, ...
  double grad_norm = 0;                 // before clipping
  double learning_rate = 0;
  int64_t frames = 0;         // valid frames that were predicted, all micro-batches
  int64_t padded_frames = 0;  // frames of the padded rectangles
  int64_t tokens = 0;
  int64_t batch_size = 0;  // rows, all micro-batches
  double step_time_s = 0;
  double data_time_s = 0;  // of it: waiting for data
};

/// One validation of all named sets.
struct ValidationReport {
  int64_t step = 0;                                           // optimizer steps done
  std::map<std::string, std::map<std::string, double>> sets;  // name -> metric -> value
};

class RunObserver {
 public:
  virtual ~RunObserver();
  virtual void on_step(const StepReport&) {}
  virtual void on_validation(const ValidationReport&) {}
  virtual void on_checkpoint(int64_t /*steps_done*/, const std::string& /*folder*/) {}
  virtual void on_end(int64_t /*steps_done*/) {}
};

}  // namespace s2s
