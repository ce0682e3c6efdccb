#include "base/moment.h"

#include <ATen/DeviceAccelerator.h>

#include <ctime>

namespace s2s {

double now_s(bool processor_time) {
  timespec now{};
  clock_gettime(processor_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Moment::Moment(at::Device device, bool processor_time) {
  if (device.is_cpu()) {
    host_s_ = now_s(processor_time);
    return;
  }
  // This flag turns timing on.
  event_ = std::make_shared<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  event_->record(at::accelerator::getCurrentStream(device.index()));
}

double Moment::since(const Moment& earlier) const {
  if (event_) {
    earlier.event_->synchronize();
    event_->synchronize();
  }
  return since_passed(earlier);
}

double Moment::since_passed(const Moment& earlier) const {
  if (!event_) return host_s_ - earlier.host_s_;
  return 1e-3 * earlier.event_->elapsedTime(*event_);
}

}  // namespace s2s
