#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "s2s/backbone.h"

TEST_CASE("the cache gives back everything appended, across growth") {
  s2s::KvCache cache(2);
  const at::Tensor all = at::rand({2, 3, 200, 4});
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
