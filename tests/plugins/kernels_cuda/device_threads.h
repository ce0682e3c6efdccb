#pragma once
// Runs a CUDA kernel's own text on the CPU: every thread of a block is a thread here, blocks come
// one after the other. Slow and exact: indexes, tails, reductions and rounding are the kernel's.
// The names are CUDA's.

#include <ATen/ATen.h>

#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

namespace s2s::test {

struct Index {
  unsigned x = 0;
  unsigned y = 0;
};

/// Bytes that kernels have read from tensors and written to them; not those that all rows share.
inline std::atomic<int64_t> moved_bytes = 0;

/// What the threads of a block share.
struct BlockState {
  struct Warp {
    std::barrier<> arrive{32};
    std::array<float, 32> values{};
  };
  explicit BlockState(int64_t threads) : arrive(threads) {
    for (int64_t warp = 0; warp * 32 < threads; ++warp) {
      warps.push_back(std::make_unique<Warp>());
    }
  }
  std::barrier<> arrive;
  std::vector<std::unique_ptr<Warp>> warps;
};

}  // namespace s2s::test

inline thread_local s2s::test::Index threadIdx, blockIdx, gridDim;
inline thread_local s2s::test::BlockState* block_state = nullptr;
inline thread_local unsigned thread_of_block = 0;

inline void __syncthreads() { block_state->arrive.arrive_and_wait(); }
inline float __shfl_xor_sync(unsigned, float value, int step) {
  auto& warp = *block_state->warps[thread_of_block / 32];
  warp.values[thread_of_block % 32] = value;
  warp.arrive.arrive_and_wait();
  const float other = warp.values[(thread_of_block % 32) ^ static_cast<unsigned>(step)];
  warp.arrive.arrive_and_wait();
  return other;
}
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline unsigned bfloat16_bits(float value) { return c10::BFloat16(value).x; }
inline unsigned float16_bits(float value) { return c10::Half(value).x; }
inline float float16_value(unsigned bits) {
  return c10::Half(static_cast<unsigned short>(bits), c10::Half::from_bits());
}

#define __device__
#define __shared__ static
#define S2S_ENTRY(threads) inline void
#define S2S_MOVED(bytes) s2s::test::moved_bytes += static_cast<int64_t>(bytes)

namespace s2s::test {

/// kernel(): the call of a kernel with its arguments. Returns the bytes that it has moved.
template <class Kernel>
int64_t run_on_threads(unsigned blocks, unsigned lanes, unsigned rows, const Kernel& kernel) {
  const int64_t before = moved_bytes;
  BlockState state(lanes * rows);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < lanes * rows; ++i) {
    threads.emplace_back([&, i] {
      block_state = &state;
      thread_of_block = i;
      threadIdx = {i % lanes, i / lanes};
      gridDim = {blocks, 1};
      for (unsigned block = 0; block < blocks; ++block) {
        blockIdx = {block, 0};
        kernel();
        __syncthreads();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return moved_bytes - before;
}

}  // namespace s2s::test
