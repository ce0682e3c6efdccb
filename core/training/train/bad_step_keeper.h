#pragma once
// Decides which steps failed, and saves them for `train --replay`.

#include <functional>
#include <string>

#include "train/loss_spikes.h"
#include "train/run_events.h"
#include "train/saved_step.h"
#include "train/trainer_parts.h"
#include "train/trainer_settings.h"

namespace s2s {

class BadStepKeeper {
 public:
  using Save = std::function<std::string(SavedStep&)>;
  /// The objects are not owned. An empty `save` keeps nothing.
  BadStepKeeper(const TrainerSettings& settings, const TrainerParts& parts, RunEvents& events,
                const Save& save)
      : settings_(settings), parts_(parts), events_(events), save_(save) {}

  /// True if more steps can be saved.
  bool keeps_steps() const { return save_ && num_saved_ < settings_.save_bad_steps; }
  /// Checks the sums of a step before the update changes the weights. On a CPU, saves a step whose
  /// loss is a spike. On a device, the host does not wait, and returns a hold for this and later
  /// updates: a non-finite loss ends the run, but the device has already begun the next step, which
  /// must not change the weights of the bad one. Undefined: no hold.
  at::Tensor look_before_update(QueuedStep& step);
  /// Checks the losses of a report, once the host has them.
  void look_after_update(QueuedStep& step, double own_loss);
  /// Saves a step. Every rank sees the same sums, so all of them call this at the same step.
  void keep(QueuedStep& step, const std::string& reason, double own_loss);

 private:
  const TrainerSettings& settings_;
  const TrainerParts& parts_;
  RunEvents& events_;
  const Save& save_;
  int64_t num_saved_ = 0;
  LossSpikes spikes_{settings_.loss_spike};
  at::Tensor hold_;  // on a device: above 0 after a loss that is not finite
};

/// "the loss is nan"
std::string fault_text(const char* what, double value);

}  // namespace s2s
