#include "loader/loading_batch.h"

#include <doctest/doctest.h>

#include <thread>

#include "core/duplex/table_tokenizer.h"
#include "core/loader/fake_batches.h"
#include "s2s/batch.h"
#include "s2s/data/duplex_data.h"

namespace {

using s2s::Batch;
using s2s::data::AudioRows;
using s2s::data::BatchMemory;
using s2s::data::LoadedBatch;
using s2s::data::LoadingBatch;
using s2s::data::PlannedBatch;
using s2s::data::RowLoader;
using s2s::test::FakeAudio;
using s2s::test::FakeBatches;
using s2s::test::FakeSet;

/// Batches of made-up cuts, their rows loaded in the order asked for.
struct Rows {
  explicit Rows(const FakeSet& set) : batches(set) {}

  LoadedBatch load(const std::vector<size_t>& order) {
    LoadingBatch loading(PlannedBatch{*batches.next(), {}, 0}, {batches, loader, memory});
    REQUIRE(loading.num_rows() == order.size());
    for (const size_t row : order) loading.load(row);
    return loading.finish(/*leave_out=*/true);
  }

  /// The same by the way that tools take: rows of their own, padded when all are there.
  Batch collated(const std::vector<std::vector<int64_t>>& keys) {
    std::vector<s2s::CutSequence> rows;
    std::vector<std::shared_ptr<const s2s::Cut>> cuts;
    for (const std::vector<int64_t>& key : keys) {
      cuts.push_back(batches.make(key));
      rows.push_back({{{cuts.back().get(), 0}}, 0});
    }
    return s2s::make_batch(rows, {}, tokenizer, audio);
  }

  s2s::test::TableTokenizer tokenizer;
  FakeAudio audio;
  FakeBatches batches;
  RowLoader loader{{{}, "data.train_ds", false, true}, tokenizer, audio};
  BatchMemory memory;
};

void check_equal(const Batch& batch, const Batch& expected) {
  CHECK(batch.ids == expected.ids);
  CHECK(batch.source_audio_BS.equal(expected.source_audio_BS));
  CHECK(batch.source_audio_lens_B.equal(expected.source_audio_lens_B));
  CHECK(batch.target_audio_BS.equal(expected.target_audio_BS));
  CHECK(batch.target_audio_lens_B.equal(expected.target_audio_lens_B));
  CHECK(batch.target_tokens_BT.equal(expected.target_tokens_BT));
  CHECK(batch.source_token_lens_B.equal(expected.source_token_lens_B));
}

}  // namespace

TEST_CASE("rows that are written in place make the batch that collating makes, in any order") {
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}}) {
    FakeSet set;
    set.rows = 4;
    Rows rows(set);
    // Used memory: what a row does not fill has to be cleared.
    rows.memory.take(4, 100000).fill_(7);
    const LoadedBatch loaded = rows.load(order);
    REQUIRE(loaded.batch);
    check_equal(*loaded.batch,
                rows.collated({{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 2, 0}, {0, 0, 3, 0}}));
  }
}

TEST_CASE("a batch without its bad rows is as if they had never been in it") {
  Rows rows({});
  rows.audio.bad = {"s0e0b0r2p0"};  // the longest
  const LoadedBatch loaded = rows.load({0, 1, 2});
  REQUIRE(loaded.batch);
  CHECK(loaded.bad.size() == 1);
  check_equal(*loaded.batch, rows.collated({{0, 0, 0, 0}, {0, 0, 1, 0}}));
}

TEST_CASE("samples that are not as many as was said are not written") {
  BatchMemory memory;
  const AudioRows rows({3, 5}, memory);
  rows.audio_BS().fill_(1);
  CHECK_FALSE(rows.put(0, at::zeros({4})));
  CHECK(rows.audio_BS().min().item<float>() == 1);
  CHECK(rows.put(0, at::full({3}, 2)));
  CHECK(rows.row(0).equal(at::full({3}, 2.0F)));
  CHECK(rows.audio_BS()[0].equal(at::tensor({2.0F, 2.0F, 2.0F, 0.0F, 0.0F})));
}

TEST_CASE("memory of a batch is used again when no part of the batch is held") {
  BatchMemory memory;
  at::Tensor first_BS = memory.take(2, 50000);
  const void* const place = first_BS.data_ptr();
  at::Tensor row_S = first_BS[1];
  first_BS.reset();
  at::Tensor second_BS = memory.take(2, 50000);
  CHECK(second_BS.data_ptr() != place);
  row_S.reset();
  CHECK(memory.take(1, 60000).data_ptr() == place);
  CHECK(memory.take(3, 0).numel() == 0);
  memory.keep_nothing();
  second_BS.fill_(1);
  CHECK(memory.take(1, 60000).fill_(2).sum().item<float>() == 120000);
  CHECK(second_BS.sum().item<float>() == 100000);
}

TEST_CASE("a batch outlives the memory that it was taken from, and may end in another thread") {
  at::Tensor batch_BS;
  {
    BatchMemory memory;
    batch_BS = memory.take(4, 1000);
    std::thread([freed_BS = memory.take(4, 1000)]() mutable { freed_BS.reset(); }).join();
  }
  batch_BS.fill_(3);
  CHECK(batch_BS.sum().item<float>() == 12000);
}
