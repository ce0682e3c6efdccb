// Keys in memory of a fixed size. The device counts positions; here it is any device.

#include "nn/decoder/fixed_keys.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/device.h"
#include "nn/decoder/attend.h"
#include "s2s/kinds/backbone.h"

using s2s::test::device;

namespace {

/// [B, heads, T, D] of the same numbers everywhere.
at::Tensor numbers(const std::vector<int64_t>& sizes) {
  return at::randn(sizes, at::kFloat).to(device());
}

}  // namespace

TEST_CASE("every position is written to its place, and memory that is doubled keeps them") {
  std::vector<int64_t> lengths = {0, 0};
  s2s::FixedKeys keys(2, lengths);
  const at::Tensor all = numbers({2, 3, 150, 8});
  for (int64_t t = 0; t < 150; ++t) {
    keys.reserve(t + 1);
    for (const int64_t layer : {0, 1}) {
      const at::Tensor k = all.narrow(2, t, 1) + layer;
      const s2s::FixedReach reach = keys.store(layer, k, -k, 0);
      REQUIRE(reach.keys.size(2) == keys.capacity());
      if (t % 50 != 49) continue;
      CHECK(reach.keys.narrow(2, 0, t + 1).equal(all.narrow(2, 0, t + 1) + layer));
      CHECK(reach.values.narrow(2, 0, t + 1).equal(-reach.keys.narrow(2, 0, t + 1)));
      CHECK(reach.values.narrow(2, t + 1, keys.capacity() - t - 1).eq(0).all().item<bool>());
      CHECK(reach.used_R.cpu().equal(at::full({2}, t + 1, at::kInt)));
      CHECK(reach.query_begins.cpu().equal(at::tensor({0, 1, 2}, at::kInt)));
      CHECK(reach.key_begins.cpu().equal(at::arange(3, at::kInt) * keys.capacity()));
    }
    keys.advance(1);
  }
  CHECK(keys.capacity() == 256);
  CHECK(keys.position(device()).cpu().equal(at::tensor({150, 150}, at::kLong)));
  keys.clear();
  CHECK(keys.capacity() == 0);
  CHECK(keys.position(device()).cpu().equal(at::tensor({0, 0}, at::kLong)));
}

TEST_CASE("a position sees the same keys as with memory that grows") {
  for (const int64_t window : {0, 1, 5}) {
    for (const double soft_cap : {0.0, 1.5}) {
      s2s::AttentionSpec spec;
      spec.window = window;
      spec.soft_cap = soft_cap;
      std::vector<int64_t> lengths = {0, 0};
      s2s::FixedKeys keys(1, lengths);
      const at::Tensor k = numbers({2, 2, 12, 8}), v = numbers({2, 2, 12, 8});
      for (int64_t t = 0; t < 12; ++t) {
        keys.reserve(t + 1);
        const at::Tensor q = numbers({2, 6, 1, 8});
        const at::Tensor ours =
            s2s::attend_fixed(q, keys.store(0, k.narrow(2, t, 1), v.narrow(2, t, 1), window), spec);
        const at::Tensor plain = s2s::attend(q, k.narrow(2, 0, t + 1), v.narrow(2, 0, t + 1), spec);
        CHECK((ours - plain).abs().max().item<float>() < 1e-5);
        keys.advance(1);
      }
    }
  }
}

TEST_CASE("several positions at once lie before and after single ones, in a ring, too") {
  for (const int64_t window : {0, 1, 4, 9}) {
    CAPTURE(window);
    std::vector<int64_t> lengths = {0};
    s2s::FixedKeys keys(1, lengths);
    const at::Tensor all = numbers({1, 2, 80, 4});
    keys.reserve(80);
    for (const int64_t count : {7, 1, 5, 1, 1, 20, 3, 1, 1, 1, 30}) {
      const int64_t begin = lengths[0];
      const at::Tensor k = all.narrow(2, begin, count);
      if (count == 1) {
        const s2s::FixedReach reach = keys.store(0, k, -k, window);
        CHECK(reach.keys.size(2) == (window > 0 ? window : 128));
        CHECK(reach.visible_RS.sum().item<int64_t>() == reach.used_R.item<int>());
      } else {
        const auto seen = keys.append(0, k, -k, window);
        REQUIRE(seen.size() == 1);
        const int64_t kept = window > 0 ? std::min(begin, window - 1) : begin;
        CHECK(seen[0].k.equal(all.narrow(2, begin - kept, kept + count)));
        CHECK(seen[0].v.equal(-seen[0].k));
      }
      lengths[0] += count;
      keys.advance(count);
    }
  }
}

TEST_CASE("rows of different lengths see their own places only, also after one was emptied") {
  for (const int64_t window : {0, 5}) {
    CAPTURE(window);
    s2s::AttentionSpec spec;
    spec.window = window;
    std::vector<int64_t> lengths = {0, 0, 0};
    s2s::FixedKeys keys(1, lengths);
    keys.reserve(40);
    std::vector<at::Tensor> own(3, numbers({1, 2, 0, 8}));
    const auto is_equal = [&](const at::Tensor& q, const at::Tensor& ours) {
      for (int64_t row = 0; row < 3; ++row) {
        const at::Tensor& k = own[static_cast<size_t>(row)];
        const at::Tensor alone = s2s::attend(q.narrow(0, row, 1), k, -k, spec);
        CHECK((ours.narrow(0, row, 1) - alone).abs().max().item<float>() < 1e-5);
      }
    };
    for (int64_t t = 0; t < 30; ++t) {
      const int64_t count = t == 3 || t == 12 ? 3 : 1;
      if (t % 7 == 6) {  // a row leaves, and another conversation begins in its place
        lengths[static_cast<size_t>(t % 3)] = 0;
        own[static_cast<size_t>(t % 3)] = numbers({1, 2, 0, 8});
        keys.lengths_changed();
      }
      const at::Tensor k = numbers({3, 2, count, 8}), q = numbers({3, 6, count, 8});
      for (int64_t row = 0; row < 3; ++row) {
        at::Tensor& all = own[static_cast<size_t>(row)];
        all = at::cat({all, k.narrow(0, row, 1)}, 2);
      }
      if (count == 1) {
        is_equal(q, s2s::attend_fixed(q, keys.store(0, k, -k, window), spec));
      } else {
        std::vector<at::Tensor> parts;
        for (const s2s::SeenKeys& seen : keys.append(0, k, -k, window)) {
          const int64_t rows = seen.k.size(0), first = static_cast<int64_t>(parts.size());
          parts.push_back(s2s::attend(q.narrow(0, first, rows), seen.k, seen.v, spec));
        }
        is_equal(q, at::cat(parts));
      }
      for (int64_t& length : lengths) length += count;
      keys.advance(count);
    }
  }
}

TEST_CASE("a state has memory of a fixed size on a device only") {
  s2s::SequenceState state(1);
  state.reserve(10, at::kCPU);
  CHECK(state.capacity() == 0);
  CHECK(state.fixed() == nullptr);
  state.reserve(10, at::Device(at::kMeta));
  CHECK(state.capacity() == 64);
  state.reserve(65, at::Device(at::kMeta));
  CHECK(state.capacity() == 128);
  state.advance_host(3);
  CHECK(state.length() == 3);
}
