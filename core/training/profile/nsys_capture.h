#pragma once
// Switches NVIDIA Nsight Systems on and off.

#include <string>

namespace s2s::run {

/// Calls cudaProfilerStart or cudaProfilerStop of the CUDA runtime that LibTorch has loaded;
/// nothing here links to it. Returns what is in the way, or "" when it was called.
std::string switch_cuda_profiler(bool on);

}  // namespace s2s::run
