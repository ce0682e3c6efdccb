#include "s2s_run/bench/bench_device.h"

#include <ATen/DeviceAccelerator.h>

#include <iostream>

#include "base/warnings.h"
#include "run/numerics.h"
#include "run/run_builder.h"
#include "s2s_run/bench/step_profile.h"

namespace s2s::run {

at::Device bench_device(const std::string& accelerator) {
  Warnings warnings;
  warnings.send_to([](const std::string& message) { std::cerr << "warning: " << message << '\n'; });
  set_numerics({});
  return choose_device("--device", accelerator, warnings);
}

void wait_for_device(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

Moment::Moment(at::Device device, bool processor_time) {
  if (device.is_cpu()) {
    host_s_ = now_s(processor_time);
    return;
  }
  event_.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // that flag turns timing on
  event_->record(at::accelerator::getCurrentStream(device.index()));
}

double Moment::since(const Moment& earlier) const {
  if (!event_) return host_s_ - earlier.host_s_;
  earlier.event_->synchronize();
  event_->synchronize();
  return 1e-3 * earlier.event_->elapsedTime(*event_);
}

std::optional<DevicePeaks> device_peaks(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats = at::accelerator::getDeviceStats(device.index());
  return DevicePeaks{stats.allocated_bytes[0].peak, stats.reserved_bytes[0].peak};  // of all pools
}

void reset_device_peaks(at::Device device) {
  if (!device.is_cpu()) at::accelerator::resetPeakStats(device.index());
}

void empty_device_cache(at::Device device) {
  if (!device.is_cpu()) at::accelerator::emptyCache();
}

}  // namespace s2s::run
