// Orders of lhotse, recorded by tests/reference/lhotse_orders.py, and compared live by
// tests/reference/lhotse_order_check.py.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/fnv.h"
#include "common/places.h"
#include "common/reference_json.h"
#include "core/samplers/sampler_of_spec.h"

namespace s2s::data {
namespace {

// As lhotse_orders.py: number of batches, and a hash of all ids.
json fingerprint_of(const std::vector<BatchIds>& batches) {
  std::string text;
  for (const BatchIds& ids : batches) {
    for (const std::string& id : ids) text += id + ",";
    text += ";";
  }
  return {batches.size(), fmt::format("{:016x}", fnv1a(text))};
}

json fingerprints_of_case(const json& spec) {
  json found = json::array();
  if (spec.contains("stream")) {
    for (const BatchIds& ids : ids_of_stream(spec)) found.push_back(fingerprint_of({ids}));
    return found;
  }
  for (const auto& ranks : ids_of_sampler(spec)) {
    for (const auto& batches : ranks) found.push_back(fingerprint_of(batches));
  }
  return found;
}

}  // namespace

TEST_CASE("streams and samplers give lhotse's ids in lhotse's batches") {
  std::set<std::string> kinds;
  for (const json& row : s2s::test::reference_json("lhotse_orders.json.gz")) {
    CAPTURE(row.dump());
    kinds.insert(row.contains("stream") ? row["stream"]["op"].get<std::string>()
                                        : row["sampler"]["sampler"].get<std::string>());
    CHECK(fingerprints_of_case(row) == row["expected"]);
  }
  for (const char* kind :
       {"dynamic_cut", "dynamic_bucketing", "zip", "round_robin", "chain", "mux", "infinite_mux",
        "repeat", "shuffle", "filter", "map", "flat_map", "draw", "first"}) {
    CAPTURE(kind);
    CHECK(kinds.contains(kind));
  }
}

// S2S_PIPELINES: a file of cases; their ids are written to S2S_PIPELINES_IDS.
TEST_CASE("ids of the pipelines that a check asks for") {
  const char* path = std::getenv("S2S_PIPELINES");
  const char* out_path = std::getenv("S2S_PIPELINES_IDS");
  if (!path || !out_path) return;
  std::ifstream file(path);
  json ids = json::array();
  for (const json& row : json::parse(file)) {
    CAPTURE(row.dump());
    ids.push_back(row.contains("stream") ? json(ids_of_stream(row)) : json(ids_of_sampler(row)));
  }
  std::ofstream out(out_path);
  out << ids.dump();
  REQUIRE(out.good());
}

}  // namespace s2s::data
