#include "base/pinned_blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

namespace s2s {

at::Tensor PinnedBlocks::take(int64_t bytes, int64_t to_come) {
  const int64_t size = aligned(bytes);
  const auto has_room = [size](const Block& block) {
    return block.memory.numel() - block.num_taken >= size;
  };
  auto block = std::find_if(blocks_.begin(), blocks_.end(), has_room);
  if (block == blocks_.end()) {
    const int64_t wanted = std::max(size, is_pinned_ ? std::min(block_bytes_, to_come) : to_come);
    const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted)));
    const auto options = at::TensorOptions().dtype(at::kByte).pinned_memory(is_pinned_);
    blocks_.push_back({at::empty({is_pinned_ ? power : wanted}, options)});
    block = blocks_.end() - 1;
  }
  const at::Tensor piece = block->memory.narrow(0, block->num_taken, bytes);
  block->num_taken += size;
  return piece;
}

void PinnedBlocks::reuse() {
  for (Block& block : blocks_) block.num_taken = 0;
}

int64_t PinnedBlocks::bytes() const {
  int64_t sum = 0;
  for (const Block& block : blocks_) sum += block.memory.numel();
  return sum;
}

}  // namespace s2s
