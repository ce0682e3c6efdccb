#include "plugin/plugin_check.h"

#include <doctest/doctest.h>

#include "core/plugin/fixtures.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// Runs the checks as `plugin check` does: the number that hold, and the id of the first that
/// fails.
std::pair<size_t, std::string> check(const std::string& fixture) {
  PluginCheckState state;
  state.path = fixture_file(fixture);
  size_t held = 0;
  for (const PluginCheck& check : plugin_file_checks()) {
    const Error error = error_of([&] { check.run(state); });
    if (error.id() != "none") return {held, error.id()};
    ++held;
  }
  return {held, "none"};
}

OptionRow row(const char* name, const char* type, const char* value, const char* doc,
              const Bounds& bounds) {
  OptionRow row;
  row.name = name;
  row.type = type;
  row.value = value;
  row.doc = doc;
  row.bounds = bounds;
  return row;
}

using Outcome = std::pair<size_t, std::string>;

}  // namespace

TEST_CASE("a good plugin passes all checks") {
  CHECK(check("good") == Outcome{5, "none"});
  CHECK(check("two_names") == Outcome{5, "none"});
}

TEST_CASE("every way to fail ends at its own check with its own id") {
  CHECK(check("no_note") == Outcome{0, "plugin/no-note"});
  CHECK(check("wrong_magic") == Outcome{0, "plugin/magic"});
  CHECK(check("empty_fields") == Outcome{0, "plugin/fields"});
  CHECK(check("wrong_api") == Outcome{1, "plugin/abi"});
  CHECK(check("wrong_torch") == Outcome{1, "plugin/abi"});
  CHECK(check("missing_symbol") == Outcome{2, "plugin/symbols"});
  CHECK(check("no_entry") == Outcome{2, "plugin/entry"});
  CHECK(check("throws") == Outcome{3, "plugin/threw"});
  CHECK(check("not_registered") == Outcome{3, "plugin/provides"});
  CHECK(check("not_declared") == Outcome{3, "plugin/provides"});
  CHECK(check("bad_options") == Outcome{4, "plugin/options"});
}

TEST_CASE("findings about options name the option and the value") {
  const OptionTable table = {row("a", "int", "0", "", at_least(1)),
                             row("a", "int", "2", "doc", at_least(1)),
                             row("c", "string", "gray", "doc", one_of({"black"})),
                             row("d", "int?", "null", "doc", at_least(1)),
                             row("e", "list of string", "[]", "doc", one_of({"black"})),
                             row("f", "list of string", "[black, black]", "doc", one_of({"black"})),
                             row("g", "list of string", "[black, red]", "doc", one_of({"black"}))};
  const std::vector<std::string> findings = option_findings({"metric", "m"}, table);
  REQUIRE(findings.size() == 5);
  CHECK(findings[0] == "metric:m option 'a' has no doc");
  CHECK(findings[1] == "metric:m option 'a' has the default 0, outside its bounds");
  CHECK(findings[2] == "metric:m option 'a' is listed twice");
  CHECK(findings[3] == "metric:m option 'c' has the default 'gray', not a choice");
  CHECK(findings[4] == "metric:m option 'g' has the default '[black, red]', not a choice");
}
