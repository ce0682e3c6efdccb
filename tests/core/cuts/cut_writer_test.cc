#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "cuts/cut_files.h"
#include "files/json_text.h"

namespace {

using s2s::test::cut_json;
using s2s::test::TemporaryFolder;

s2s::Cut sample(const char* id) {
  return s2s::parse_cut(cut_json(id, 4, "user.wav", "agent.wav").dump(), "cuts.jsonl", 1);
}

}  // namespace

TEST_CASE("numbers are written as Python writes them") {
  const std::vector<std::pair<double, const char*>> cases = {
      {0.1, "0.1"},
      {1, "1.0"},
      {-0.0, "-0.0"},
      {1e16, "1e+16"},
      {123456789012345680, "1.2345678901234568e+17"},
      {9999999999999998, "9999999999999998.0"},
      {1e-5, "1e-05"},
      {0.0001, "0.0001"},
      {1.5e-7, "1.5e-07"},
      {1e22, "1e+22"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1e300, "1e+300"},
      {100, "100.0"},
      {12.25, "12.25"}};
  for (const auto& [number, text] : cases) CHECK(s2s::data::python_number(number) == text);
}

TEST_CASE("cuts that are written are read again") {
  const TemporaryFolder dir;
  s2s::test::write_text(dir / "cuts.jsonl",
                        s2s::to_json(sample("a")) + "\n" + s2s::to_json(sample("b")) + "\n");
  const auto cuts = s2s::read_cuts({dir / "cuts.jsonl"}).cuts;
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[1].id == "b");
  CHECK(s2s::to_json(cuts[1]).size() > 100);
}
