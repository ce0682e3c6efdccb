#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "common/places.h"
#include "core/samplers/sampler_of_spec.h"
#include "samplers/bins_2d.h"

namespace s2s::data {
namespace {

void check_error(const char* id, const std::function<void()>& run) {
  try {
    run();
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.id() == id);
  }
}

std::vector<CutSize> sizes_of(const json& spec) {
  std::vector<CutSize> sizes;
  for (const CutPtr& cut : generated_cuts(spec)) sizes.push_back(duration_and_tokens(*cut));
  return sizes;
}

void check_2d(const json& row, const std::vector<CutSize>& sizes) {
  Bins2dOptions options;
  options.num_buckets = row["num_buckets"].get<int64_t>();
  options.num_sub_buckets = row["sub_buckets"].get<int64_t>();
  options.outlier_threshold = row["threshold"].get<double>();
  if (row.contains("max_duration")) options.max_length = row["max_duration"].get<double>();
  const Bins bins = estimate_bins_2d(sizes, options);
  std::vector<std::string> bounds;
  std::vector<std::string> ratios;
  for (size_t i = 0; i < bins.lengths.size(); ++i) {
    bounds.push_back(fmt::format("{:.3f},{}", bins.lengths[i], bins.num_tokens[i]));
    ratios.push_back(fmt::format("{:.2f}", bins.max_ratio[i]));
  }
  CHECK(bounds == row["bins_2d"].get<std::vector<std::string>>());
  CHECK(ratios == row["ratios"].get<std::vector<std::string>>());
}

}  // namespace

TEST_CASE("bounds of buckets are lhotse's and NeMo's") {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/nemo_bins.json");
  for (const json& row : json::parse(file)) {
    CAPTURE(row.dump());
    const std::vector<CutSize> sizes = sizes_of(row["cuts"]);
    std::vector<double> lengths;
    for (const CutSize& size : sizes) lengths.push_back(size.length);
    CHECK(estimate_bins(lengths, row["num_buckets"].get<int64_t>()) ==
          row["bins"].get<std::vector<double>>());
    check_2d(row, sizes);
  }
}

TEST_CASE("too few cuts for bounds end in one message") {
  check_error("data/too-few-cuts", [] { estimate_bins({1, 2, 3}, 4); });
  check_error("data/too-few-cuts", [] { estimate_bins({1, 2, 3}, 1); });
  check_error("data/too-few-cuts", [] { estimate_bins_2d({{1, 2}}, {}); });
}

TEST_CASE("buckets in two dimensions, strict and not") {
  // NeMo's example.
  Bins bins;
  bins.lengths = {10, 10, 20, 20};
  bins.num_tokens = {5, 10, 12, 18};
  CHECK(!find_bucket(bins, {8, 11}));
  CHECK(find_bucket(bins, {8, 5}) == 0);
  CHECK(find_bucket(bins, {8, 6}) == 1);
  CHECK(!find_bucket(bins, {21, 1}));
  bins.is_strict = false;
  CHECK(find_bucket(bins, {8, 11}) == 2);
  CHECK(!fits_bucket(bins, {8, 19}));
  bins.is_strict = true;
  bins.max_ratio = {0.5, 1, 1, 1};
  CHECK(!find_bucket(bins, {8, 5}));
  CHECK(find_bucket(bins, {10, 5}) == 0);
}

TEST_CASE("options that do not belong together end in one message") {
  const json cuts = {{"op", "cuts"}, {"name", "a"}, {"count", 30}, {"seed", 4}};
  const auto bucketing = [&](json spec) {
    spec.update({{"sampler", "dynamic_bucketing"}, {"buffer", 9}, {"of", cuts}});
    return sampler_of(spec, 1);
  };
  check_error("data/bins", [&] { bucketing({{"batch_sizes", {3}}}); });
  check_error("data/bins", [&] { bucketing({{"batch_sizes", {3}}, {"bins", {3, 4}}}); });
  check_error("data/bins", [&] { bucketing({{"max_cuts", 3}, {"bins", {4, 3}}}); });
  check_error("data/bins", [&] {
    bucketing({{"batch_sizes", {3, 3}}, {"bins", {3, 40}}, {"tokens", {9}}});
  });
  check_error("data/batch-limits", [&] { bucketing({{"bins", {3, 4}}}); });
  check_error("data/batch-limits", [&] { bucketing({{"max_cuts", 0}, {"bins", {3, 4}}}); });
  check_error("data/batch-limits", [&] { bucketing({{"max_duration", -1}, {"bins", {3}}}); });
  check_error("data/too-few-cuts", [&] {
    bucketing({{"max_cuts", 3}, {"num_buckets", 31}})->next();
  });
  check_error("data/longer-than-bins", [&] {
    bucketing({{"batch_sizes", {3, 3}}, {"bins", {3, 4}}})->next();
  });
}

TEST_CASE("one cut that no batch may have is a batch of its own, with one warning") {
  std::vector<std::string> warnings;
  DynamicBucketingOptions options;
  options.limits = BatchLimits{3, {}, {}};
  options.bins.lengths = {4, 8};
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const json cuts = {{"op", "cuts"}, {"name", "a"}, {"count", 30}, {"seed", 4}, {"shape", "equal"}};
  const SamplerPtr sampler = dynamic_bucketing_sampler(stream_of(cuts), options);
  int64_t num_batches = 0;
  while (const std::optional<SampledBatch> batch = sampler->next()) {
    CHECK(batch->items.size() == 1);
    ++num_batches;
  }
  CHECK(num_batches == 30);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("forms a batch alone") != std::string::npos);
}

}  // namespace s2s::data
