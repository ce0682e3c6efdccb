#pragma once
// What the parts of the stand-in share.

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/stand_in_cuda/stand_in_cuda.h"

namespace s2s::stand_in {

struct Recording {
  uint64_t id = 0;
  size_t nodes = 0;
  bool is_broken = false;
};

struct State {
  std::mutex mutex;
  std::map<std::string, int> failures;  // function -> calls before it fails
  std::map<void*, size_t> memory, pinned;
  std::map<cudaStream_t, Recording> recordings;
  std::set<cudaStream_t> recording_streams;
  std::map<cudaGraph_t, size_t> nodes;
  int64_t living_graphs = 0;
  Counts counts;
};
State& state();

/// A kernel's configuration between <<<...>>> and its launch.
struct Launch {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
inline std::vector<Launch>& pushed() {
  thread_local std::vector<Launch> launches;
  return launches;
}

/// Success, unless a test wants the function to fail.
cudaError_t result(const char* function);
/// Keeps an error for cudaGetLastError.
cudaError_t note(cudaError_t error);
cudaError_t& last_error();

}  // namespace s2s::stand_in
