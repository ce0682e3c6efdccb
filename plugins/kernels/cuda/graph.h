#pragma once
// Graphs of CUDA devices, by LibTorch's CUDAGraph.

#include <functional>
#include <memory>
#include <string>

#include "s2s/nn/device_graph.h"

namespace s2s::cuda {

std::unique_ptr<DeviceGraph> make_graph(std::function<void(const std::string&)> warn);

}  // namespace s2s::cuda
