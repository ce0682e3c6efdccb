// The stand-in's device: what it is, and functions that have nothing to do.

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "device/stand_in_cuda/state.h"

using namespace s2s::stand_in;

namespace {

constexpr size_t kMemoryBytes = size_t{80} << 30;
constexpr int kVersion = 13000;

bool is_in(const std::map<void*, size_t>& blocks, const void* address) {
  const auto after = blocks.upper_bound(const_cast<void*>(address));
  if (after == blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(address) < static_cast<const char*>(begin) + bytes;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

/// Of the driver: LibTorch opens libcuda.so.1, and this library is loaded under that name.
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}

int cuCtxGetCurrent(void** context) {
  static char one = 0;
  *context = &one;
  return 0;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* of, int) {
  std::memset(of, 0, sizeof(*of));
  std::strcpy(of->name, "stand-in");
  of->major = 9;
  of->multiProcessorCount = 132;
  of->totalGlobalMem = kMemoryBytes;
  of->warpSize = 32;
  of->maxThreadsPerBlock = 1024;
  of->maxThreadsPerMultiProcessor = 2048;
  of->maxThreadsDim[0] = of->maxThreadsDim[1] = 1024;
  of->maxThreadsDim[2] = 64;
  of->maxGridSize[0] = 2147483647;
  of->maxGridSize[1] = of->maxGridSize[2] = 65535;
  of->regsPerBlock = of->regsPerMultiprocessor = 65536;
  of->sharedMemPerBlock = 49152;
  of->sharedMemPerMultiprocessor = of->sharedMemPerBlockOptin = 232448;
  of->l2CacheSize = 52428800;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *total = kMemoryBytes;
  *free_bytes = kMemoryBytes - static_cast<size_t>(device_bytes());
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error(); }

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  *address = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  const std::lock_guard lock(state().mutex);
  state().pinned[*address] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
  const std::lock_guard lock(state().mutex);
  if (state().pinned.erase(address) > 0) std::free(address);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* of, const void* address) {
  std::memset(of, 0, sizeof(*of));
  const std::lock_guard lock(state().mutex);
  if (is_in(state().memory, address)) of->type = cudaMemoryTypeDevice;
  if (is_in(state().pinned, address)) of->type = cudaMemoryTypeHost;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new char);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<char*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* of, const void*) {
  std::memset(of, 0, sizeof(*of));
  of->maxThreadsPerBlock = 1024;
  of->binaryVersion = of->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
  return note(cudaErrorNotSupported);
}

}  // extern "C"
