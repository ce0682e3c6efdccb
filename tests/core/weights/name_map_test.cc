#include "s2s/nn/name_map.h"

#include <doctest/doctest.h>

TEST_CASE("the first rule that matches wins, in both directions") {
  const s2s::NameMap map{{{"head.weight", "lm_head.weight"},
                          {"tables.*.weight", "model.tables.*.w"},
                          {"**", "model.**"}},
                         {"model.layers.*.inv_freq"}};
  CHECK(map.to_theirs("head.weight") == "lm_head.weight");
  CHECK(map.to_theirs("tables.3.weight") == "model.tables.3.w");
  CHECK(map.to_theirs("layers.0.q.weight") == "model.layers.0.q.weight");
  CHECK(map.to_ours("lm_head.weight") == "head.weight");
  CHECK(map.to_ours("model.tables.3.w") == "tables.3.weight");
  CHECK(map.to_ours("model.layers.0.q.weight") == "layers.0.q.weight");
  CHECK_FALSE(map.to_ours("other.weight").has_value());
  CHECK(map.is_ignored("model.layers.12.inv_freq"));
  CHECK_FALSE(map.is_ignored("model.layers.12.q.weight"));
}

TEST_CASE("a checkpoint may have another spelling of a name, which leads back, too") {
  s2s::NameMap map{{{"head.weight", "lm_head.weight"}, {"**", "model.**"}}, {"image.**"}};
  map.other_spellings = {{"**", "text.model.**"}, {"**", "model.text.**"}};
  const auto in = [&](const std::string& ours, const std::string& there) {
    return *map.to_theirs(ours, [&](const std::string& name) { return name == there; });
  };
  CHECK(in("norm.weight", "model.norm.weight") == "model.norm.weight");
  CHECK(in("norm.weight", "text.model.norm.weight") == "text.model.norm.weight");
  CHECK(in("norm.weight", "model.text.norm.weight") == "model.text.norm.weight");
  CHECK(in("norm.weight", "nothing") == "model.norm.weight");
  CHECK(in("head.weight", "lm_head.weight") == "lm_head.weight");
  CHECK(map.to_theirs("norm.weight") == "model.norm.weight");
  for (const char* theirs :
       {"model.norm.weight", "text.model.norm.weight", "model.text.norm.weight"}) {
    CHECK(map.to_ours(theirs) == "norm.weight");
  }
}
