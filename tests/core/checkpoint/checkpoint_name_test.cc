#include "checkpoint/checkpoint_name.h"

#include <doctest/doctest.h>

#include "s2s/error.h"

using s2s::checkpoint_name;

namespace {

const std::map<std::string, double> kValues = {{"step", 120}, {"epoch", 3}, {"val_loss", 0.25}};

}  // namespace

TEST_CASE("checkpoints have the names that Lightning gives them") {
  // Printed by tests/reference/nemo_experiment.py.
  const std::map<std::string, std::pair<std::string, std::string>> names = {
      {"{step}", {"step=120", "120"}},
      {"{epoch}-{step}", {"epoch=3-step=120", "3-120"}},
      {"{step:06d}-{val_loss:.3f}", {"step=000120-val_loss=0.250", "000120-0.250"}},
      {"run--{val_loss:.4f}-{epoch}", {"run--val_loss=0.2500-epoch=3", "run--0.2500-3"}},
      {"{val_loss}", {"val_loss=0.25", "0.25"}},
      {"plain", {"plain", "plain"}},
      {"{absent:.1f}", {"absent=0.0", "0.0"}},
      {"{step:08.1f}", {"step=000120.0", "000120.0"}}};
  for (const auto& [pattern, expected] : names) {
    CHECK(checkpoint_name(pattern, kValues, true) == expected.first);
    CHECK(checkpoint_name(pattern, kValues, false) == expected.second);
  }
}

TEST_CASE("a pattern that names no file is refused") {
  for (const char* pattern :
       {"a/{step}", "", ".{step}", "{step", "last", "best", "{step:q}", "{val_loss:d}", "a\nb"}) {
    CAPTURE(pattern);
    CHECK_THROWS_WITH_AS(checkpoint_name(pattern, kValues, true),
                         doctest::Contains("[config/filename]"), s2s::Error);
  }
}
