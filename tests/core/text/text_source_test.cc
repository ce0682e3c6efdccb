#include "text/text_source.h"

#include <doctest/doctest.h>

#include <set>

#include "core/text/text_lines.h"
#include "s2s/conformance.h"

namespace {

using namespace s2s::test;
using s2s::Batch;
using s2s::data::TextSource;

}  // namespace

TEST_CASE("packed rows hold the documents of unpacked ones, in order, as many as fit") {
  for (const bool shuffle : {false, true}) {
    CAPTURE(shuffle);
    Sources sources;
    sources.lines = growing_lines(50);
    sources.options.repeat = false;
    sources.options.shuffle = shuffle;
    sources.options.max_seq_len = 20;
    sources.options.batch_size = 3;
    const Documents plain = documents_of(*sources.open());
    sources.options.packing = "sequential";
    const auto source = sources.open();
    Documents packed;
    std::vector<int64_t> row_lengths, first_lengths;
    while (const auto batch = source->next()) {
      append_documents(*batch, packed);
      CHECK(batch->text_BT.size(1) <= 20);
      std::vector<int64_t> lengths(static_cast<size_t>(batch->size()), 0);
      for (const s2s::DocumentSpan& span : batch->documents) {
        auto& length = lengths[static_cast<size_t>(span.row)];
        CHECK(span.begin == length);
        if (length == 0) first_lengths.push_back(span.length);
        length += span.length;
      }
      row_lengths.insert(row_lengths.end(), lengths.begin(), lengths.end());
    }
    CHECK(packed == plain);
    CHECK(plain.size() == 50);
    for (size_t i = 0; i + 1 < row_lengths.size(); ++i) {
      CHECK(row_lengths[i] + first_lengths[i + 1] > 20);
    }
  }
}

TEST_CASE("each epoch has every document once, in an order that seed and epoch determine") {
  Sources sources;
  sources.lines = growing_lines(12);
  sources.options.shuffle = true;
  sources.options.batch_size = 3;
  const auto source = sources.open();
  const Ids first = take(*source, 4), second = take(*source, 4);
  std::set<std::string> seen;
  for (const auto& batch : first) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == 12);
  CHECK(first != second);
  CHECK(take(*sources.open(), 4) == first);
  sources.options.seed = 5;
  CHECK(take(*sources.open(), 4) != first);
}

TEST_CASE("data ranks share one order of batches, and resume exactly on any number of them") {
  for (const char* packing : {"none", "sequential"}) {
    CAPTURE(packing);
    Sources sources;
    sources.lines = growing_lines(40);
    sources.options.shuffle = true;
    sources.options.packing = packing;
    sources.options.max_seq_len = 16;
    sources.options.batch_size = 2;
    const Ids whole = take(*sources.open(), 60);
    std::vector<std::unique_ptr<TextSource>> ranks;
    for (int64_t rank = 0; rank < 3; ++rank) ranks.push_back(sources.open(rank, 3));
    Ids shared;
    for (int round = 0; round < 10; ++round) {
      for (const auto& rank : ranks) shared.push_back(take(*rank, 1).front());
    }
    CHECK(shared == Ids(whole.begin(), whole.begin() + 30));
    CHECK(ranks[0]->state() == ranks[2]->state());
    const auto alone = sources.open();
    alone->restore(ranks[1]->state());
    CHECK(take(*alone, 30) == Ids(whole.begin() + 30, whole.end()));
    alone->restore("");
    CHECK(take(*alone, 5) == Ids(whole.begin(), whole.begin() + 5));
  }
}

TEST_CASE("a finite source ends, and stays at its end") {
  Sources sources;
  sources.lines = growing_lines(5);
  sources.options.repeat = false;
  sources.options.batch_size = 2;
  const auto source = sources.open();
  CHECK(take(*source, 9).size() == 3);
  CHECK_FALSE(source->next());
  const std::string end = source->state();
  source->restore("");
  CHECK(take(*source, 9).size() == 3);
  source->restore(end);
  CHECK_FALSE(source->next());
  const auto second = sources.open(1, 2);
  CHECK(take(*second, 9).size() == 1);
}

TEST_CASE("the source keeps the promises of data sources") {
  Sources sources;
  sources.lines = growing_lines(30);
  sources.options.shuffle = true;
  sources.options.packing = "sequential";
  sources.options.max_seq_len = 12;
  const auto open = [&] { return sources.open(); };
  const auto broken = s2s::conformance::broken_promises(open, 20);
  CHECK_MESSAGE(broken.empty(), broken.front());
}
