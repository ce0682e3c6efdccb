#include "s2s/nn/device_graph.h"

#include <map>
#include <mutex>

#include "nn/operators.h"
#include "s2s/kinds/device_kernels.h"

namespace s2s {
namespace {

/// The kernels that live in this process, as the dispatcher knows them too (decision 0025).
struct LivingKernels {
  std::mutex mutex;
  std::map<at::DeviceType, DeviceKernels*> by_device;
};

LivingKernels& living_kernels() {
  static LivingKernels all;
  return all;
}

}  // namespace

DeviceGraph::~DeviceGraph() = default;

std::unique_ptr<DeviceGraph> DeviceKernels::make_graph() { return nullptr; }

DeviceKernels::~DeviceKernels() {
  LivingKernels& living = living_kernels();
  const std::lock_guard lock(living.mutex);
  std::erase_if(living.by_device, [this](const auto& entry) { return entry.second == this; });
}

void offer_graphs(at::DeviceType device, DeviceKernels& kernels) {
  LivingKernels& living = living_kernels();
  const std::lock_guard lock(living.mutex);
  living.by_device[device] = &kernels;
}

std::unique_ptr<DeviceGraph> make_device_graph(at::Device device) {
  LivingKernels& living = living_kernels();
  const std::lock_guard lock(living.mutex);
  const auto found = living.by_device.find(device.type());
  return found == living.by_device.end() ? nullptr : found->second->make_graph();
}

}  // namespace s2s
