#include "s2s_run/bench/bench_device.h"

#include <ATen/DeviceAccelerator.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/warnings.h"
#include "nn/attention_choice.h"
#include "run/numerics.h"
#include "run/run_builder.h"

namespace s2s::run {

at::Device bench_device(const std::string& accelerator, const std::string& attention) {
  Warnings warnings;
  warnings.send_to([](const std::string& message) { std::cerr << "warning: " << message << '\n'; });
  TrainerBlock trainer;
  trainer.attention = attention;
  set_numerics(trainer);
  return choose_device("--device", accelerator, warnings);
}

nlohmann::ordered_json attention_json(const std::string& asked) {
  for (const AttentionNote& note : take_attention_notes()) {
    if (note.is_warning) std::cerr << "warning: " << note.text << '\n';
  }
  auto used = nlohmann::ordered_json::array();
  for (const AttentionUse& use : attention_uses()) {
    const AttentionCall& call = use.call;
    used.push_back({{"kernel", name_of(use.backend)},
                    {"shape", {call.rows, call.heads, call.positions, call.head_dim}}});
  }
  return {{"asked", asked}, {"used", used}};
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
