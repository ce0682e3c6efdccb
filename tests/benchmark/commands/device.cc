#include "benchmark/commands/device.h"

#include <ATen/DeviceAccelerator.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/warnings.h"
#include "nn/attention_choice.h"
#include "run/numerics.h"
#include "run/run_builder.h"

namespace s2s::run {

void add_device_options(const Command& command, DeviceArguments& arguments) {
  command.option("--device", arguments.name, "cpu, gpu, or auto: the GPU if there is one")
      .one_of({"auto", "cpu", "gpu"})
      .shows_default();
  command
      .option("--attention", arguments.attention,
              "kernel of decoders' attention, as trainer.attention: auto, cudnn, flash or math")
      .one_of({"auto", "cudnn", "flash", "math"})
      .shows_default();
}

at::Device bench_device(const DeviceArguments& arguments) {
  Warnings warnings;
  warnings.send_to([](const std::string& message) { std::cerr << "warning: " << message << '\n'; });
  TrainerBlock trainer;
  trainer.attention = arguments.attention;
  set_numerics(trainer);
  return choose_device("--device", arguments.name, warnings);
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

nlohmann::ordered_json device_peaks(at::Device device) {
  auto peaks = nlohmann::ordered_json::object();
  if (device.is_cpu()) return peaks;
  const auto stats = at::accelerator::getDeviceStats(device.index());
  peaks["allocated_peak"] = stats.allocated_bytes[0].peak;  // 0: of all pools
  peaks["reserved_peak"] = stats.reserved_bytes[0].peak;
  return peaks;
}

}  // namespace s2s::run
