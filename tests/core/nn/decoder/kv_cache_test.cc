#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <set>

#include "common/device.h"
#include "s2s/kinds/backbone.h"

using s2s::test::device;

TEST_CASE("the cache gives back everything appended, across growth") {
  s2s::KvCache cache(2);
  const at::Tensor all = at::rand({2, 3, 200, 4}, device());
  int64_t begin = 0;
  for (const int64_t count : {1, 70, 1, 128}) {
    for (const int64_t layer : {0, 1}) {
      const at::Tensor k = all.narrow(2, begin, count) + layer;
      const auto [keys, values] = cache.append(layer, k, -k);
      CHECK(at::equal(keys, all.narrow(2, 0, begin + count) + layer));
      CHECK(at::equal(values, -keys));
    }
    CHECK(cache.length() == begin);
    cache.advance(count);
    begin += count;
  }
  cache.clear();
  CHECK(cache.length() == 0);
  CHECK(cache.append(0, all, all).first.size(2) == 200);
}

TEST_CASE("with a window the cache gives back its last positions, in memory that stops growing") {
  constexpr int64_t kWindow = 10;
  s2s::KvCache cache(1);
  const at::Tensor all = at::rand({2, 3, 600, 4}, device());
  int64_t begin = 0;
  std::set<const void*> memories;
  for (const int64_t count : {1, 25, 3, 1, 40}) {
    const auto [keys, values] =
        cache.append(0, all.narrow(2, begin, count), -all.narrow(2, begin, count), kWindow);
    const int64_t kept = std::min(begin, kWindow - 1);
    CHECK(at::equal(keys, all.narrow(2, begin - kept, kept + count)));
    CHECK(at::equal(values, -keys));
    cache.advance(count);
    begin += count;
  }
  while (begin < 600) {
    const at::Tensor k = all.narrow(2, begin, 1);
    const auto [keys, values] = cache.append(0, k, -k, kWindow);
    REQUIRE(at::equal(keys, all.narrow(2, begin + 1 - kWindow, kWindow)));
    REQUIRE(at::equal(values, -keys));
    memories.insert(keys.storage().data());
    cache.advance(1);
    ++begin;
  }
  CHECK(cache.length() == 600);
  CHECK(memories.size() == 1);
}
