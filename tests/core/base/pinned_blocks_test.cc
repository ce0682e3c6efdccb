// Blocks of plain memory; those of pinned memory are in tests/device/copies_test.cc.

#include "base/pinned_blocks.h"

#include <doctest/doctest.h>

using s2s::PinnedBlocks;

TEST_CASE("plain memory is one block of what will be taken, and is used again") {
  PinnedBlocks blocks(/*is_pinned=*/false);
  const int64_t all = PinnedBlocks::aligned(100) + PinnedBlocks::aligned(3);
  CHECK(all == 128 + 64);
  const at::Tensor first = blocks.take(100, all);
  const at::Tensor second = blocks.take(3, all - 128);
  CHECK(blocks.bytes() == all);
  CHECK(first.numel() == 100);
  CHECK(second.storage_offset() == 128);
  CHECK(blocks.take(0, 0).numel() == 0);
  blocks.reuse();
  CHECK(blocks.take(192, 192).const_data_ptr() == first.const_data_ptr());
  blocks.take(1, 1);
  CHECK(blocks.bytes() == all + 64);
  blocks.clear();
  CHECK(blocks.bytes() == 0);
}
