#pragma once
// Pinned (page-locked) host memory in blocks.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// Allocates host memory from blocks. LibTorch rounds an allocation of pinned memory up to a power
/// of two, so blocks have such sizes. Later pieces use what is left of a block.
class PinnedBlocks {
 public:
  static constexpr int64_t kBlockBytes = int64_t{512} << 20;

  /// is_pinned: false for plain memory, which is not rounded up.
  explicit PinnedBlocks(bool is_pinned, int64_t block_bytes = kBlockBytes)
      : is_pinned_(is_pinned), block_bytes_(block_bytes) {}

  /// Returns uninitialized memory: uint8 [bytes], aligned to 64 bytes. `to_come`: bytes of all
  /// pieces that will be taken from now on, this one included. A new block has at most
  /// `block_bytes`, unless the piece is larger or the memory is plain.
  at::Tensor take(int64_t bytes, int64_t to_come);
  /// The bytes of a piece with its alignment, for sums of `to_come`.
  static int64_t aligned(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Makes all memory available again. Earlier pieces must not be used any more.
  void reuse();
  /// Returns the memory of all blocks to LibTorch.
  void clear() { blocks_.clear(); }
  /// Total size of the blocks.
  int64_t bytes() const;

 private:
  static constexpr int64_t kAlignment = 64;
  struct Block {
    at::Tensor memory;
    int64_t num_taken = 0;  // bytes
  };

  bool is_pinned_;
  int64_t block_bytes_;
  std::vector<Block> blocks_;
};

}  // namespace s2s
