#include "s2s/nn/sequence_state.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "common/device.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "nn/decoder/fixed_keys.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

using s2s::SeenKeys;
using s2s::SequenceState;
using s2s::test::device;
using s2s::test::TemporaryFolder;

namespace {

/// The only entry, for rows that are equally long.
SeenKeys appended(SequenceState& state, int64_t layer, const at::Tensor& k, int64_t window = 0) {
  std::vector<SeenKeys> seen = state.append(layer, k, -k, window);
  REQUIRE(seen.size() == 1);
  CHECK(at::equal(seen[0].v, -seen[0].k));
  return seen[0];
}

}  // namespace

TEST_CASE("a state gives back all keys that were appended, across growth") {
  SequenceState state(2);
  const at::Tensor all = at::rand({2, 3, 200, 4}, device());
  int64_t begin = 0;
  for (const int64_t count : {1, 70, 1, 128}) {
    for (const int64_t layer : {0, 1}) {
      const SeenKeys seen = appended(state, layer, all.narrow(2, begin, count) + layer);
      CHECK(at::equal(seen.k, all.narrow(2, 0, begin + count) + layer));
    }
    CHECK(state.length() == begin);
    state.advance(count);
    begin += count;
  }
  CHECK(state.num_rows() == 2);
  state.clear();
  CHECK(state.length() == 0);
  CHECK(appended(state, 0, all).k.size(2) == 200);
}

TEST_CASE("with a window a state gives back its last positions, in memory that stops growing") {
  constexpr int64_t kWindow = 10;
  SequenceState state(1);
  const at::Tensor all = at::rand({2, 3, 600, 4}, device());
  int64_t begin = 0;
  std::set<const void*> memories;
  for (const int64_t count : {1, 25, 3, 1, 40}) {
    const SeenKeys seen = appended(state, 0, all.narrow(2, begin, count), kWindow);
    const int64_t kept = std::min(begin, kWindow - 1);
    CHECK(at::equal(seen.k, all.narrow(2, begin - kept, kept + count)));
    state.advance(count);
    begin += count;
  }
  while (begin < 600) {
    const SeenKeys seen = appended(state, 0, all.narrow(2, begin, 1), kWindow);
    REQUIRE(at::equal(seen.k, all.narrow(2, begin + 1 - kWindow, kWindow)));
    memories.insert(seen.k.storage().data());
    state.advance(1);
    ++begin;
  }
  CHECK(state.length() == 600);
  CHECK(memories.size() == 1);
}

namespace {

/// Four rows that join, leave and are copied at any moment, beside a list of what each has seen.
class Rows {
 public:
  explicit Rows(int64_t window) : window_(window) {}

  void step(const std::vector<int64_t>& rows, int64_t count) {
    const auto num_rows = static_cast<int64_t>(rows.empty() ? 4 : rows.size());
    const at::Tensor k = at::rand({num_rows, 2, count, 4}, device());
    const std::vector<SeenKeys> seen = state_.append(0, k, -k, window_, rows);
    for (int64_t b = 0; b < num_rows; ++b) {
      const int64_t row = rows.empty() ? b : rows[static_cast<size_t>(b)];
      at::Tensor& own = seen_[static_cast<size_t>(row)];
      own = own.defined() ? at::cat({own, k[b]}, 1) : k[b];
      const at::Tensor ours = seen.size() == 1 ? seen[0].k[b] : seen[static_cast<size_t>(b)].k[0];
      const int64_t before = own.size(1) - count;
      const int64_t kept = window_ > 0 ? std::min(before, window_ - 1) : before;
      REQUIRE(at::equal(ours, own.narrow(1, before - kept, kept + count)));
    }
    state_.advance(count, rows);
    for (int64_t row = 0; row < 4; ++row) {
      const at::Tensor& own = seen_[static_cast<size_t>(row)];
      REQUIRE(state_.length(row) == (own.defined() ? own.size(1) : 0));
    }
  }
  void reset(int64_t row) {
    state_.reset_row(row);
    seen_[static_cast<size_t>(row)] = at::Tensor();
  }
  void copy(int64_t from, int64_t to) {
    state_.copy_row(from, to);
    seen_[static_cast<size_t>(to)] = seen_[static_cast<size_t>(from)];
  }

 private:
  int64_t window_;
  SequenceState state_{1, 4};
  std::vector<at::Tensor> seen_ = std::vector<at::Tensor>(4);
};

}  // namespace

TEST_CASE("rows of a state have lengths of their own, and are emptied and copied alone") {
  for (const int64_t window : {0, 7}) {
    CAPTURE(window);
    Rows rows(window);
    rows.step({1}, 5);
    rows.step({2, 1}, 1);
    rows.step({}, 3);
    for (int64_t i = 0; i < 90; ++i) {
      if (i % 17 == 0) rows.reset(i % 4);
      if (i % 23 == 0) rows.copy(i % 4, (i + 1) % 4);
      if (i % 3 == 0) rows.step({}, 1);
      rows.step({i % 4, (i + 2) % 4}, i % 5 == 0 ? 4 : 1);
    }
  }
}

TEST_CASE("recurrent state is kept by row; an empty row has zeros") {
  SequenceState state(2, 3);
  CHECK_FALSE(state.recall(1, "sum").defined());
  const at::Tensor two = at::rand({2, 5}, device());
  state.remember(1, "sum", two, {2, 0});
  const at::Tensor all = state.recall(1, "sum");
  CHECK(at::equal(all[2], two[0]));
  CHECK(at::equal(all[0], two[1]));
  CHECK(all[1].eq(0).all().item<bool>());
  CHECK(at::equal(state.recall(1, "sum", {0}), two.narrow(0, 1, 1)));
  state.copy_row(2, 1);
  state.reset_row(2);
  CHECK(at::equal(state.recall(1, "sum", {1})[0], two[0]));
  CHECK(state.recall(1, "sum", {2}).eq(0).all().item<bool>());
  CHECK(at::equal(all[2], two[0]));  // what a layer holds does not change
  state.select_rows(at::tensor({1, 1}, at::kLong).to(device()));
  CHECK(state.num_rows() == 2);
  CHECK(at::equal(state.recall(1, "sum", {0}), state.recall(1, "sum", {1})));
  CHECK_FALSE(state.recall(0, "sum").defined());
}

namespace {

/// What the next step would see of each row.
std::vector<at::Tensor> next_seen(SequenceState& state, int64_t window) {
  std::vector<at::Tensor> rows;
  const at::Tensor fresh = at::ones({state.num_rows(), 2, 1, 4}, device());
  for (const SeenKeys& seen : state.append(0, fresh, -fresh, window)) {
    for (int64_t b = 0; b < seen.k.size(0); ++b) rows.push_back(seen.k[b].cpu());
  }
  return rows;
}

}  // namespace

TEST_CASE("a saved state is restored bit for bit, with reserved memory, too") {
  const TemporaryFolder folder;
  const std::string path = folder / "state.safetensors";
  for (const int64_t window : {0, 4}) {
    SequenceState state(2, 3);
    for (const std::vector<int64_t>& rows : {std::vector<int64_t>{0}, {0, 2}, {2}, {2}}) {
      const at::Tensor k = at::rand({static_cast<int64_t>(rows.size()), 2, 3, 4}, device());
      state.append(0, k, -k, window, rows);
      state.remember(1, "conv", k.flatten(1), rows);
      state.advance(3, rows);
    }
    state.save(path);
    const std::vector<at::Tensor> expected = next_seen(state, window);
    for (const int64_t capacity : {0, 10}) {
      SequenceState other(2);
      if (capacity > 0) other.reserve(capacity, device());
      other.load(path, device());
      CHECK(other.num_rows() == 3);
      CHECK(other.lengths() == std::vector<int64_t>{6, 0, 9});
      CHECK(at::equal(other.recall(1, "conv"), state.recall(1, "conv")));
      CHECK((other.capacity() > 0) == (capacity > 0 && !device().is_cpu()));
      const std::vector<at::Tensor> found = next_seen(other, window);
      REQUIRE(found.size() == expected.size());
      for (size_t row = 0; row < found.size(); ++row) CHECK(at::equal(found[row], expected[row]));
    }
  }
}

TEST_CASE("a file that is no state of this model is refused, and changes nothing") {
  const TemporaryFolder folder;
  const std::string path = folder / "state.safetensors";
  const auto refuses = [&](const std::string& what) {
    SequenceState state(1);
    const at::Tensor k = at::rand({1, 2, 3, 4});
    state.append(0, k, k);
    state.advance(3);
    CAPTURE(what);
    try {
      state.load(path, device());
      FAIL("loaded");
    } catch (const s2s::Error& error) {
      CHECK(error.id() == "weights/sequence-state");
      const std::string text = error.what();
      CHECK_MESSAGE(text.find(what) != std::string::npos, text);
    }
    CHECK(state.length() == 3);
  };
  SequenceState(2, 1).save(path);
  refuses("it is of 2 layers and 1 rows; expected 1 layers");
  s2s::TensorMap tensors = {{"weight", at::rand({2})}};
  s2s::write_safetensors(path, tensors);
  refuses("there is no tensor 'lengths'");
  tensors = {{"lengths", at::tensor({int64_t{2}})}, {"num_layers", at::tensor({int64_t{1}})}};
  tensors["layers.0.window"] = at::tensor({int64_t{0}});
  tensors["layers.0.rows.0.keys"] = tensors["layers.0.rows.0.values"] = at::rand({1, 2, 3, 4});
  s2s::write_safetensors(path, tensors);
  refuses(
      "'layers.0.rows.0.keys' has 4 dims, 24 elements; expected [1, heads, at most 2 positions");
  tensors["layers.0.rows.0.keys"] = at::rand({1, 2, 2, 4});
  s2s::write_safetensors(path, tensors);
  refuses("'layers.0.rows.0.values'");
}
