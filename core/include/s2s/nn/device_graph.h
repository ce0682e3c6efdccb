#pragma once
// Graphs of a device: work that is recorded once and launched again as one.

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <vector>

namespace s2s {

/// One recorded piece of work. A plugin of kind `kernels` brings it for its type of device.
class DeviceGraph {
 public:
  virtual ~DeviceGraph();
  /// Records what `work` launches on the current device, without running it. `work` may not wait
  /// for the device, and draws only from `generators`. Returns false, after a warning, if the
  /// device cannot record it; the object then has no graph. Errors: those of `work`. After a
  /// failure or an error, all generators draw as if nothing had been recorded, and the memory that
  /// was taken for the graph can be used again.
  virtual bool record(const std::function<void()>& work,
                      const std::vector<at::Generator>& generators) = 0;
  /// Launches what was recorded, on the same memory. Generators go on.
  virtual void replay() = 0;
};

/// Returns an empty graph, or null if no plugin has graphs for the device or S2S_GRAPHS is `off`.
/// Lives no longer than the run that built the plugin's kernels.
std::unique_ptr<DeviceGraph> make_device_graph(at::Device device);

}  // namespace s2s
