// Memory, streams, recordings and launches.

#include "device/stand_in_cuda/stand_in_cuda.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "device/stand_in_cuda/state.h"

// Graphs are counted, not kept.
struct CUgraph_st {};
struct CUgraphExec_st {};

namespace s2s::stand_in {

State& state() {
  static auto* const one = new State;  // libraries use it when the program ends
  return *one;
}

cudaError_t result(const char* function) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().failures.find(function);
  if (found == state().failures.end() || found->second-- > 0) return cudaSuccess;
  state().failures.erase(found);
  return note(cudaErrorUnknown);
}

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) last_error() = error;
  return error;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

void fail(const char* function, int after) {
  const std::lock_guard lock(state().mutex);
  state().failures[function] = after;
}

Counts counts() {
  const std::lock_guard lock(state().mutex);
  Counts counts = state().counts;
  counts.recording_streams = static_cast<int64_t>(state().recording_streams.size());
  return counts;
}

int64_t device_bytes() {
  const std::lock_guard lock(state().mutex);
  int64_t sum = 0;
  for (const auto& [address, bytes] : state().memory) sum += static_cast<int64_t>(bytes);
  return sum;
}

int64_t living_graphs() {
  const std::lock_guard lock(state().mutex);
  return state().living_graphs;
}

namespace {

/// A stream that records may not be waited for: this breaks the recording, as CUDA's does.
cudaError_t wait_for(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().recordings.find(stream);
  if (found == state().recordings.end()) return cudaSuccess;
  found->second.is_broken = true;
  return note(cudaErrorStreamCaptureUnsupported);
}

/// Returns true if the stream does the work now, false if it records it.
bool launch(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().recordings.find(stream);
  if (found == state().recordings.end()) {
    ++state().counts.launches;
    return true;
  }
  ++state().counts.recorded_launches;
  ++found->second.nodes;
  return false;
}

void count_graphs(int64_t change) {
  const std::lock_guard lock(state().mutex);
  state().living_graphs += change;
}

}  // namespace
}  // namespace s2s::stand_in

using namespace s2s::stand_in;

extern "C" {

// Memory.

cudaError_t cudaMalloc(void** address, size_t bytes) {
  if (const cudaError_t error = result("cudaMalloc"); error != cudaSuccess) return error;
  *address = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(*address, 0, bytes);
  const std::lock_guard lock(state().mutex);
  state().memory[*address] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
  const std::lock_guard lock(state().mutex);
  if (state().memory.erase(address) > 0) std::free(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (launch(stream)) std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (launch(stream)) std::memset(to, value, bytes);
  return cudaSuccess;
}

// Streams.

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = reinterpret_cast<cudaStream_t>(new char);  // LibTorch's pools live to the end
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return wait_for(stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return wait_for(stream); }

// Recordings.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const cudaError_t error = result("cudaStreamBeginCapture");
  if (error != cudaSuccess) return error;
  const std::lock_guard lock(state().mutex);
  if (state().recordings.contains(stream)) return note(cudaErrorIllegalState);
  state().recording_streams.insert(stream);
  state().recordings[stream].id = static_cast<uint64_t>(++state().counts.recordings);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const cudaError_t error = result("cudaStreamEndCapture");
  const std::lock_guard lock(state().mutex);
  const auto found = state().recordings.find(stream);
  if (found == state().recordings.end()) return note(cudaErrorIllegalState);
  const Recording recording = found->second;
  state().recordings.erase(found);
  if (error != cudaSuccess) return error;
  if (recording.is_broken) return note(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st;
  state().nodes[*graph] = recording.nodes;
  ++state().living_graphs;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().recordings.find(stream);
  *status = found == state().recordings.end() ? cudaStreamCaptureStatusNone
            : found->second.is_broken         ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**, size_t*) {
  cudaStreamIsCapturing(stream, status);
  const std::lock_guard lock(state().mutex);
  const auto found = state().recordings.find(stream);
  if (id != nullptr && found != state().recordings.end()) *id = found->second.id;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  const cudaError_t error = result("cudaGraphGetNodes");
  if (error != cudaSuccess) return error;
  const std::lock_guard lock(state().mutex);
  *count = state().nodes[graph];
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
  const cudaError_t error = result("cudaGraphInstantiateWithFlags");
  if (error != cudaSuccess) return error;
  *exec = new CUgraphExec_st;
  count_graphs(1);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  count_graphs(-1);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  count_graphs(-1);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  const std::lock_guard lock(state().mutex);
  ++state().counts.graph_launches;
  return cudaSuccess;
}

// Kernels: what nvcc makes of kernel<<<...>>>(...).

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Launch last = pushed().back();
  pushed().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t stream) {
  launch(stream);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  launch(config->stream);
  return cudaSuccess;
}

}  // extern "C"
