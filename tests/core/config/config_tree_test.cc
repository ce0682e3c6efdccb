#include "config/config_tree.h"

#include <doctest/doctest.h>

#include "config/yaml_reader.h"

TEST_CASE("changes of a configuration are listed value by value") {
  const s2s::Config before = s2s::parse_yaml("{a: {b: 1, c: [x, y]}, gone: {d: 2}, e: []}", "old");
  const s2s::Config now = s2s::parse_yaml("{a: {b: 2, c: [x, z]}, e: [], new: null}", "new");
  CHECK(s2s::config_changes(before, now) ==
        std::vector<std::string>{"a.b: 1 before, 2 now", "a.c.1: y before, z now",
                                 "new: missing before, null now", "gone.d: 2 before, missing now"});
  CHECK(s2s::config_changes(before, before).empty());
}
