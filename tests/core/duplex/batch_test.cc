#include "s2s/batch.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "base/accelerator.h"
#include "common/device.h"

namespace {

s2s::Batch small_batch() {
  s2s::Batch batch;
  batch.source_audio_BS = at::arange(6, at::kFloat).view({2, 3});
  batch.source_audio_lens_B = at::tensor({3, 2}, at::kLong);
  batch.target_tokens_BT = at::ones({2, 4}, at::kLong);
  batch.ids = {"a", "b"};
  batch.turns = {{{true, 0, 1, "hello"}}, {}};
  return batch;
}

void check_same(const s2s::Batch& found, const s2s::Batch& expected) {
  CHECK(found.source_audio_BS.cpu().equal(expected.source_audio_BS));
  CHECK(found.source_audio_lens_B.cpu().equal(expected.source_audio_lens_B));
  CHECK(found.target_tokens_BT.cpu().equal(expected.target_tokens_BT));
  CHECK_FALSE(found.codes_BKT.defined());
  CHECK(found.ids == expected.ids);
  CHECK(found.turns[0][0].text == "hello");
}

}  // namespace

TEST_CASE("a batch goes to a device whole, waiting or not; what it lacks it lacks there") {
  const s2s::Batch batch = small_batch();
  for (const bool non_blocking : {false, true}) {
    check_same(batch.to(at::kCPU, non_blocking), batch);
  }
}

TEST_CASE("a pinned batch is copied to a GPU without waiting") {
  std::string why;
  const auto accelerator = s2s::open_accelerator(why);
  if (!accelerator) {
    MESSAGE("skipped: " << why);
    return;
  }
  s2s::test::say_device({*accelerator, 0});
  const s2s::Batch batch = small_batch();
  const s2s::Batch pinned = batch.pin_memory();
  CHECK(pinned.source_audio_BS.is_pinned());
  check_same(pinned, batch);
  const s2s::Batch there = pinned.to({*accelerator, 0}, /*non_blocking=*/true);
  CHECK((there.source_audio_BS.device().type() == *accelerator));
  check_same(there, batch);
}
