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
  s2s::FixedKeys keys(2);
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
      CHECK(reach.used_B.cpu().equal(at::full({2}, t + 1, at::kInt)));
      CHECK(reach.query_begins.cpu().equal(at::tensor({0, 1, 2}, at::kInt)));
      CHECK(reach.key_begins.cpu().equal(at::arange(3, at::kInt) * keys.capacity()));
    }
    keys.advance(1);
  }
  CHECK(keys.capacity() == 256);
  CHECK(keys.position(device()).item<int64_t>() == 150);
  keys.clear();
  CHECK(keys.capacity() == 0);
  CHECK(keys.position(device()).item<int64_t>() == 0);
}

TEST_CASE("a position sees the same keys as with memory that grows") {
  for (const int64_t window : {0, 1, 5}) {
    for (const double soft_cap : {0.0, 1.5}) {
      s2s::AttentionSpec spec;
      spec.window = window;
      spec.soft_cap = soft_cap;
      s2s::FixedKeys keys(1);
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

TEST_CASE("several positions at once lie before and after single ones") {
  s2s::FixedKeys keys(1);
  const at::Tensor all = numbers({1, 2, 20, 4});
  keys.reserve(20);
  const auto append = [&](int64_t begin, int64_t count, int64_t window) {
    const at::Tensor k = all.narrow(2, begin, count);
    const auto [seen, values] = keys.append(0, k, -k, window, begin);
    CHECK(values.equal(-seen));
    return seen;
  };
  CHECK(append(0, 7, 0).equal(all.narrow(2, 0, 7)));
  keys.advance(7);
  keys.store(0, all.narrow(2, 7, 1), -all.narrow(2, 7, 1), 0);
  keys.advance(1);
  CHECK(append(8, 5, 0).equal(all.narrow(2, 0, 13)));
  CHECK(append(8, 5, 4).equal(all.narrow(2, 5, 8)));
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
