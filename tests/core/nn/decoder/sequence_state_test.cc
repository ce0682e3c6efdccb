#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <set>

#include "common/device.h"
#include "s2s/kinds/backbone.h"

using s2s::test::device;

TEST_CASE("the state gives back everything appended, across growth") {
  s2s::SequenceState state(2);
  const at::Tensor all = at::rand({2, 3, 200, 4}, device());
  int64_t begin = 0;
  for (const int64_t count : {1, 70, 1, 128}) {
    for (const int64_t layer : {0, 1}) {
      const at::Tensor k = all.narrow(2, begin, count) + layer;
      const auto [keys, values] = state.append(layer, k, -k);
      CHECK(at::equal(keys, all.narrow(2, 0, begin + count) + layer));
      CHECK(at::equal(values, -keys));
    }
    CHECK(state.length() == begin);
    state.advance(count);
    begin += count;
  }
  state.clear();
  CHECK(state.length() == 0);
  CHECK(state.append(0, all, all).first.size(2) == 200);
}

TEST_CASE("with a window the state gives back its last positions, in memory that stops growing") {
  constexpr int64_t kWindow = 10;
  s2s::SequenceState state(1);
  const at::Tensor all = at::rand({2, 3, 600, 4}, device());
  int64_t begin = 0;
  std::set<const void*> memories;
  for (const int64_t count : {1, 25, 3, 1, 40}) {
    const auto [keys, values] =
        state.append(0, all.narrow(2, begin, count), -all.narrow(2, begin, count), kWindow);
    const int64_t kept = std::min(begin, kWindow - 1);
    CHECK(at::equal(keys, all.narrow(2, begin - kept, kept + count)));
    CHECK(at::equal(values, -keys));
    state.advance(count);
    begin += count;
  }
  while (begin < 600) {
    const at::Tensor k = all.narrow(2, begin, 1);
    const auto [keys, values] = state.append(0, k, -k, kWindow);
    REQUIRE(at::equal(keys, all.narrow(2, begin + 1 - kWindow, kWindow)));
    REQUIRE(at::equal(values, -keys));
    memories.insert(keys.storage().data());
    state.advance(1);
    ++begin;
  }
  CHECK(state.length() == 600);
  CHECK(memories.size() == 1);
}
