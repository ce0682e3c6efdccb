#include "train/step_report.h"

namespace s2s {

RunObserver::~RunObserver() = default;

const char* to_string(TrainingPhase phase) {
  constexpr const char* kNames[] = {"data", "forward and backward", "update", "validate", "save"};
  return kNames[static_cast<size_t>(phase)];
}

}  // namespace s2s
