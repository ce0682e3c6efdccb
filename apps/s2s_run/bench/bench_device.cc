#include "s2s_run/bench/bench_device.h"

#include <ATen/DeviceAccelerator.h>

#include <iostream>

#include "base/warnings.h"
#include "run/numerics.h"
#include "run/run_builder.h"

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
