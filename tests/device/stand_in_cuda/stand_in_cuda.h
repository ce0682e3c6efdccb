#pragma once
// CUDA's runtime and cuBLAS without a GPU, for tests that run LibTorch's CUDA code on the host: its
// streams, graphs, allocators and generators (core/docs/internals/test_device.md). Link a test with
// it, and its functions come before those of libcudart and libcublas. Memory is the host's and
// begins with zeros, kernels and products do nothing, copies are done when they are given.

#include <cstdint>

namespace s2s::stand_in {

/// The next call of this function of the runtime fails, or the one after `after` further calls.
void fail(const char* function, int after = 0);

/// Since the program started.
struct Counts {
  int64_t launches = 0;  // outside of recordings
  int64_t recorded_launches = 0;
  int64_t graph_launches = 0;
  int64_t recordings = 0;         // that began
  int64_t recording_streams = 0;  // different ones
  int64_t products = 0;           // of cuBLAS
};
Counts counts();

/// Device memory that is allocated now. Units: bytes.
int64_t device_bytes();
/// Graphs and executable graphs that were not destroyed.
int64_t living_graphs();

}  // namespace s2s::stand_in
