#include "s2s/error.h"

#include <doctest/doctest.h>

using s2s::Error;
using s2s::ExitCode;
using s2s::Findings;

TEST_CASE("an error carries id, message and exit code") {
  const Error error(ExitCode::kData, "data/x", "broken");
  CHECK(std::string(error.what()) == "[data/x] broken");
  CHECK(error.id() == "data/x");
  CHECK(error.message() == "broken");
  CHECK(error.exit_code() == ExitCode::kData);
}

TEST_CASE("findings are reported together") {
  Findings findings;
  findings.throw_if_any();
  findings.add({ExitCode::kConfig, "config/a", "one"});
  CHECK_THROWS_WITH(findings.throw_if_any(), "[config/a] one");
  findings.add({ExitCode::kData, "data/b", "two"});
  CHECK_THROWS_WITH(findings.throw_if_any(),
                    "[config/a] 2 findings\n  [config/a] one\n  [data/b] two");
}

TEST_CASE("the nearest name is suggested, a far one is not") {
  CHECK(s2s::nearest_name("num_layer", {"num_heads", "num_layers"}) == "num_layers");
  CHECK(s2s::nearest_name("zzz", {"num_heads"}) == "");
  CHECK(s2s::nearest_name("x", {}) == "");
  CHECK(s2s::nearest_name("ab", {"xy", "cb"}) == "cb");  // one letter is as it was written
  CHECK(s2s::nearest_name("ab", {"xy"}) == "");
}

TEST_CASE("an assertion names condition, reason and place") {
  CHECK_THROWS_WITH_AS(S2S_ASSERT(1 == 2, "one is not two"),
                       doctest::Contains("assertion failed: 1 == 2 (one is not two)"),
                       std::logic_error);
}
