// Rows of text and audio.

#include "models/salm/mixed_rows.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/contains.h"
#include "s2s/error.h"

using namespace s2s;
using namespace s2s::salm;
using s2s::test::contains;

namespace {

const RowIds kIds{0, 99, "<audio>"};

at::Tensor longs(const std::vector<std::vector<int64_t>>& rows) {
  std::vector<at::Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(at::tensor(row, at::kLong));
  return at::stack(tensors);
}

at::Tensor mask(const std::vector<std::vector<int64_t>>& rows) { return longs(rows).to(at::kBool); }

std::string error_of(const std::vector<int64_t>& row, const std::vector<int64_t>& frames) {
  try {
    mix_rows(longs({row}), {}, frames, kIds, false);
  } catch (const Error& error) {
    return error.id() + ": " + error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("frames of an audio take the place of its tag, and padding on the left goes") {
  const MixedRows rows = mix_rows(longs({{0, 5, 99, 6}, {99, 7, 99, 8}}),
                                  mask({{0, 0, 0, 1}, {0, 1, 0, 1}}), {2, 1, 3}, kIds, false);
  // Text is 0 .. 7, frames 8 and 9, 10, 11 to 13; 14 is padding.
  CHECK(at::equal(rows.source_BL, longs({{1, 8, 9, 3, 14, 14}, {10, 5, 11, 12, 13, 7}})));
  CHECK(at::equal(rows.labels_BL,
                  longs({{-100, -100, 6, -100, -100, -100}, {7, -100, -100, -100, 8, -100}})));
  CHECK(rows.lengths == std::vector<int64_t>{4, 6});
  CHECK(rows.num_labels == 3);
}

TEST_CASE("in training the last position of each row is left out") {
  const MixedRows rows = mix_rows(longs({{0, 0, 5, 6}, {4, 5, 6, 7}}),
                                  mask({{0, 0, 1, 1}, {0, 0, 1, 1}}), {}, kIds, true);
  CHECK(rows.lengths == std::vector<int64_t>{1, 3});
  CHECK(at::equal(rows.labels_BL, longs({{6, -100, -100}, {-100, 6, 7}})));
}

TEST_CASE("PAD inside of a row is no label") {
  const MixedRows rows = mix_rows(longs({{5, 0, 6}}), mask({{1, 1, 1}}), {}, kIds, false);
  CHECK(at::equal(rows.labels_BL, longs({{-100, 6, -100}})));
}

TEST_CASE("rows go to the right end of their width") {
  const at::Tensor x = at::arange(1, 7, at::kFloat).view({2, 3});
  CHECK(at::equal(left_padded(x, {2, 3}), at::tensor({0, 1, 2, 4, 5, 6}, at::kFloat).view({2, 3})));
}

TEST_CASE("audios and places that are not as many are refused, with what to do") {
  CHECK(contains(error_of({5, 6}, {2}),
                 "salm/audio-count: the batch has 1 audios, but its text has "
                 "0 places for them (<audio>)"));
  CHECK(contains(error_of({5, 6}, {2}), "write <audio> where each audio belongs"));
  CHECK(contains(error_of({5, 99}, {2, 2}), "add tags, or remove audios"));
  CHECK(contains(error_of({99, 99}, {2}), "add audios, or remove tags"));
  CHECK(error_of({99, 99}, {2, 2}).empty());
}
