#include "base/path_pattern.h"

#include <doctest/doctest.h>

using s2s::fill_pattern;
using s2s::match_path;
using Captures = std::vector<std::string>;

TEST_CASE("a star matches exactly one segment and a trailing double star the rest") {
  CHECK(match_path("layers.*.mlp", "layers.3.mlp") == Captures{"3"});
  CHECK(match_path("layers.**", "layers.3.mlp.weight") == Captures{"3.mlp.weight"});
  CHECK(match_path("**", "a.b") == Captures{"a.b"});
  CHECK(match_path("norm", "norm") == Captures{});
  CHECK_FALSE(match_path("layers.*", "layers.3.mlp"));
  CHECK_FALSE(match_path("layers.*.mlp", "layers.3"));
  CHECK_FALSE(match_path("layers.**", "layers"));
  CHECK_FALSE(match_path("norm", "norm.weight"));
  CHECK_FALSE(match_path("norm.weight", "norm"));
  CHECK_FALSE(match_path("*", ""));
}

TEST_CASE("a filled pattern is the path that matched") {
  CHECK(fill_pattern("model.layers.*.a.**", {"4", "q.weight"}) == "model.layers.4.a.q.weight");
  CHECK_THROWS_AS(fill_pattern("a.*", {}), std::logic_error);
  CHECK_THROWS_AS(fill_pattern("a", {"1"}), std::logic_error);
}
