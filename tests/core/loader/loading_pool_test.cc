#include "loader/loading_pool.h"

#include <doctest/doctest.h>

#include "common/failing_threads.h"
#include "core/duplex/table_tokenizer.h"
#include "core/loader/fake_batches.h"
#include "s2s/batch.h"

namespace {

using s2s::data::BatchOrder;
using s2s::data::LoadedBatch;
using s2s::data::LoadingPool;
using s2s::data::PoolOptions;
using s2s::data::RowLoader;
using s2s::data::UnreadCuts;
using s2s::test::FakeAudio;
using s2s::test::FakeBatches;
using s2s::test::FakeSet;

/// A pool over made-up cuts.
struct Loading {
  explicit Loading(const FakeSet& set, const PoolOptions& options)
      : batches(set),
        loader({{}, "data.train_ds", false, options.leave_out}, tokenizer, audio),
        options_(options) {}
  LoadingPool& pool() {
    if (!pool_) pool_ = std::make_unique<LoadingPool>(order, batches, loader, options_);
    return *pool_;
  }

  s2s::test::TableTokenizer tokenizer;
  FakeAudio audio;
  FakeBatches batches;
  RowLoader loader;
  UnreadCuts unread{0, "data.train_ds"};
  BatchOrder order{batches, unread, {}, {}, 0};

 private:
  PoolOptions options_;
  std::unique_ptr<LoadingPool> pool_;
};

FakeSet passes_once(int64_t batches) {
  FakeSet set;
  set.batches = batches;
  set.repeat = false;
  return set;
}

}  // namespace

TEST_CASE("what batches hold, and their order, do not depend on the number of threads") {
  std::vector<LoadedBatch> expected;
  for (const int64_t workers : {0, 1, 4}) {
    Loading loading(passes_once(12), {workers, 3, false, false});
    loading.audio.jitter = true;
    size_t count = 0;
    while (std::optional<LoadedBatch> loaded = loading.pool().take()) {
      REQUIRE(loaded->batch);
      if (workers == 0) {
        expected.push_back(std::move(*loaded));
        continue;
      }
      REQUIRE(count < expected.size());
      const s2s::Batch& batch = *expected[count++].batch;
      CHECK(loaded->batch->ids == batch.ids);
      CHECK(loaded->batch->source_audio_BS.equal(batch.source_audio_BS));
      CHECK(loaded->batch->target_tokens_BT.equal(batch.target_tokens_BT));
    }
    CHECK(expected.size() == 12);
    CHECK(count == (workers == 0 ? 0 : 12));
    CHECK_FALSE(loading.pool().take());
  }
}

TEST_CASE("a long cut holds no other row: not those of its batch, not those of the next") {
  Loading loading(passes_once(3), {2, 3, false, false});
  loading.audio.waits_for_others = "s0e0b0r0p0";
  loading.audio.others = 8;
  CHECK(loading.pool().take()->batch->ids.front() == "s0e0b0r0p0");
  CHECK_FALSE(loading.audio.waited_in_vain);
}

TEST_CASE("no more batches are under way than asked for") {
  Loading loading({}, {2, 2, false, false});
  for (int64_t taken = 0; taken < 20; ++taken) {
    CHECK(loading.batches.num_planned <= taken + 2);
    CHECK(loading.pool().take()->batch);
  }
}

TEST_CASE("a pool that nobody takes from any more ends") {
  for (int i = 0; i < 20; ++i) {
    Loading loading({}, {3, 5, false, false});
    loading.audio.jitter = true;
    if (i % 2 == 0) loading.pool().take();
    loading.pool();
  }
}

TEST_CASE("errors come in their place, from the planner and from workers") {
  for (const int64_t workers : {0, 2}) {
    CAPTURE(workers);
    FakeSet set;
    set.fails_at = 2;
    Loading planning(set, {workers, 4, false, false});
    CHECK(planning.pool().take()->batch);
    CHECK(planning.pool().take()->batch);
    for (int again = 0; again < 2; ++again) {
      CHECK_THROWS_WITH_AS(planning.pool().take(), "[test/planning] line 7 is torn", s2s::Error);
    }
    Loading loading({}, {workers, 4, false, false});
    loading.audio.defects = {"s0e0b1r1p0"};
    CHECK(loading.pool().take()->batch);
    CHECK_THROWS_WITH_AS(loading.pool().take(), "a defect", std::runtime_error);
  }
}

TEST_CASE("a thread without memory says so, and what nobody knows does not end the process") {
  for (const int64_t workers : {1, 3}) {
    Loading loading({}, {workers, 4, false, false});
    loading.audio.no_memory = "s0e0b1r1p0";
    loading.audio.strange = "s0e0b2r0p0";
    CHECK(loading.pool().take()->batch);
    CHECK_THROWS_AS(loading.pool().take(), std::bad_alloc);
    CHECK_THROWS_AS(loading.pool().take(), std::runtime_error);
    CHECK(loading.pool().take()->batch);
  }
}

TEST_CASE("a thread that cannot be started is one error; those that run end") {
  for (const int num_good : {0, 1, 2, 3}) {
    const s2s::test::FailingThreads failing(num_good);
    Loading loading({}, {3, 4, false, false});
    CHECK_THROWS_WITH_AS(loading.pool(), doctest::Contains("[run/threads]"), s2s::Error);
  }
}

TEST_CASE("a batch is bad with one bad cut, unless bad cuts are left out") {
  for (const bool leave_out : {false, true}) {
    Loading loading({}, {2, 4, leave_out, false});
    loading.audio.bad = {"s0e0b1r0p0", "s0e0b1r2p0"};
    CHECK(loading.pool().take()->bad.empty());
    const std::optional<LoadedBatch> loaded = loading.pool().take();
    REQUIRE(loaded->bad.size() == 2);
    CHECK(loaded->bad[0].id == "s0e0b1r0p0");
    CHECK(loaded->bad[0].message == "made-up.jsonl:2: cut 's0e0b1r0p0': cannot be read");
    CHECK(loaded->bad[1].error_id == "test/bad-audio");
    REQUIRE(loaded->batch.has_value() == leave_out);
    if (leave_out) CHECK(loaded->batch->ids == std::vector<std::string>{"s0e0b1r1p0"});
  }
}

TEST_CASE("where a bad cut of a packed row was is silence; the others stay where they are") {
  FakeSet set;
  set.rows = 1;
  set.parts = 3;
  Loading loading(set, {0, 1, true, false});
  loading.audio.bad = {"s0e0b0r0p1"};
  const std::optional<LoadedBatch> loaded = loading.pool().take();
  REQUIRE(loaded->batch);
  CHECK(loaded->bad.size() == 1);
  CHECK(loaded->batch->ids.front() == "s0e0b0r0p0@0+s0e0b0r0p2@20");
  const at::Tensor audio_S = loaded->batch->source_audio_BS[0];
  CHECK(audio_S.size(0) == 30 * 1280);
  CHECK(audio_S.narrow(0, 12800, 12800).abs().max().item<float>() == 0);
  CHECK(loaded->batch->turns[0].size() == 2);
}
