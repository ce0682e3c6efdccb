#include "train/phase_clock.h"

#include <ATen/DeviceAccelerator.h>

#include <numeric>

namespace s2s {

double PhaseTimes::sum() const {
  return std::accumulate(phase_s.begin(), phase_s.end(), communication_s);
}

void PhaseTimes::add(const PhaseTimes& other) {
  for (size_t i = 0; i < phase_s.size(); ++i) phase_s[i] += other.phase_s[i];
  communication_s += other.communication_s;
}

void PhaseClock::begin(TrainingPhase phase) {
  std::vector<CommWaits::Wait> waits;
  if (waits_ != nullptr) waits = waits_->take();
  if (!marks_.empty()) marks_.back().waits = std::move(waits);
  marks_.push_back({phase, Moment(device_), {}});
}

std::vector<PhaseClock::Mark> PhaseClock::take() {
  if (marks_.empty()) return {};
  Mark open{marks_.back().phase, marks_.back().at, {}};
  std::vector<Mark> taken = std::move(marks_);
  marks_.clear();
  marks_.push_back(std::move(open));
  return taken;
}

PhaseTimes PhaseClock::read(const std::vector<Mark>& marks) {
  PhaseTimes times;
  for (size_t i = 0; i + 1 < marks.size(); ++i) {
    double waited_s = 0;
    for (const CommWaits::Wait& wait : marks[i].waits)
      waited_s += wait.end.since_passed(wait.begin);
    times.of(marks[i].phase) += marks[i + 1].at.since_passed(marks[i].at) - waited_s;
    times.communication_s += waited_s;
  }
  return times;
}

PhaseTimes PhaseClock::finish() {
  begin(TrainingPhase::kReport);
  if (!device_.is_cpu()) at::accelerator::synchronizeDevice(device_.index());
  return read(take());
}

}  // namespace s2s
