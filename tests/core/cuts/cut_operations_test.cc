#include "cuts/cut_operations.h"

#include <doctest/doctest.h>

#include <regex>

#include "common/reference_json.h"
#include "core/cuts/cut_cases.h"

namespace {

using s2s::test::CaseJson;

/// Turns that begin at the same time come out of lhotse's interval trees in any order.
void order_by_ids(CaseJson& items) {
  for (const CaseJson& item : items) {
    if (!item.is_object() || !item.contains("start")) return;
  }
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t k = i;
         k > 0 && items[k]["start"] == items[k - 1]["start"] && items[k]["id"] < items[k - 1]["id"];
         --k) {
      std::swap(items[k], items[k - 1]);
    }
  }
}

/// Without what lhotse writes or not without a difference, and with new ids masked.
CaseJson normal(const CaseJson& value) {
  static const std::regex uuid(
      "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  if (value.is_string()) return std::regex_replace(value.get<std::string>(), uuid, "UUID");
  CaseJson result = value;
  if (value.is_array()) {
    for (CaseJson& item : result) item = normal(item);
    order_by_ids(result);
  }
  if (!value.is_object()) return result;
  result = CaseJson::object();
  for (const auto& [name, member] : value.items()) {
    const bool optional = name == "custom" || name == "alignment" || name == "transforms";
    const CaseJson made = normal(member);
    if (!optional || !made.empty()) result[name] = made;
  }
  return result;
}

/// Plain JSON compares members in any order.
nlohmann::json plain(const CaseJson& value) { return nlohmann::json::parse(value.dump()); }

}  // namespace

TEST_CASE("operations give what lhotse's give, field by field, and refuse what it refuses") {
  const auto cases = s2s::test::reference_json<CaseJson>("lhotse_cuts.json.gz");
  REQUIRE(cases.size() >= 60);
  for (const CaseJson& test_case : cases) {
    CAPTURE(test_case["op"].dump() + " " + test_case["args"].dump());
    const CaseJson ours = normal(s2s::test::run_case(test_case));
    const CaseJson& expected = test_case["expected"];
    if (expected.contains("broken")) continue;
    if (expected.contains("error")) {
      CHECK(ours.contains("error"));
    } else {
      INFO(ours.dump());
      const bool same = plain(ours) == plain(expected);
      CHECK(same);
    }
  }
}

TEST_CASE("new ids follow from the old ones") {
  s2s::Cut cut;
  cut.id = "a";
  cut.duration_s = 2;
  cut.recording = s2s::Recording{"r", {}, 16000, 32000, 2, {0}, {}};
  const std::string half = s2s::truncate(cut, {0.0, 1.0}).id;
  CHECK(half.size() == 36);
  CHECK(half == s2s::truncate(cut, {0.0, 1.0}).id);
  CHECK(half != s2s::truncate(cut, {1.0, 1.0}).id);
  cut.id = "b";
  CHECK(half != s2s::truncate(cut, {0.0, 1.0}).id);
}

TEST_CASE("what an operation is not defined for is [data/cut-operation] with the cut's place") {
  s2s::Cut cut;
  cut.id = "a";
  cut.manifest = "cuts.jsonl";
  cut.line = 3;
  cut.duration_s = 2;
  CHECK_THROWS_WITH_AS(s2s::truncate(cut, {0.0, 1.0}),
                       doctest::Contains("[data/cut-operation] cuts.jsonl:3: cut 'a'"), s2s::Error);
  cut.recording = s2s::Recording{"r", {}, 16000, 32000, 2, {0}, {}};
  CHECK_THROWS_WITH_AS(s2s::truncate(cut, {-1.0, 1.0}), doctest::Contains("negative"), s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::truncate(cut, {3.0, 1.0}), doctest::Contains("nothing would be left"),
                       s2s::Error);
}
