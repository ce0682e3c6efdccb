#include "compare/compare.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "weights/safetensors.h"

using namespace s2s::test;

namespace {

s2s::TensorDifference compare(const at::Tensor& actual, const at::Tensor& expected,
                              const at::Tensor& valid = {}, at::ScalarType dtype = at::kFloat) {
  s2s::ReferenceFile reference;
  reference.rtol = 1e-2;
  reference.atol = 1e-3;
  s2s::CompareSettings settings;
  settings.dtype = dtype;
  s2s::Comparison comparison(reference, settings);
  comparison.add("x", actual, expected, valid);
  return comparison.rows().front();
}

std::map<std::string, std::string> good_metadata() {
  return {{"s2s.reference", "1"}, {"kind", "llm"},  {"name", "x"},
          {"options", "{}"},      {"rtol", "1e-4"}, {"atol", "1e-5"}};
}

std::string reference_error(std::map<std::string, std::string> metadata) {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "r", {{"input/ids", at::zeros({1})}}, metadata);
  return error_of([&] {
    const auto reference = s2s::read_reference(folder / "r");
    CHECK(reference.inputs.count("ids") == 1);
    const s2s::Registries registries;
    s2s::compare_reference({reference, {}, registries});
  });
}

}  // namespace

TEST_CASE("a number passes within atol + rtol of the reference and fails beyond") {
  const at::Tensor expected = at::tensor({0.0F, 1.0F, -100.0F});
  CHECK(compare(at::tensor({0.0009F, 1.0F, -100.0F}), expected).pass);
  CHECK(compare(at::tensor({0.0F, 1.0F, -100.9F}), expected).pass);
  CHECK_FALSE(compare(at::tensor({0.0011F, 1.0F, -100.0F}), expected).pass);
  const auto row = compare(at::tensor({0.0F, 1.5F, -100.0F}), expected);
  CHECK_FALSE(row.pass);
  CHECK(row.largest_absolute == doctest::Approx(0.5));
  CHECK(row.largest_relative == doctest::Approx(0.5));
  CHECK(row.share_of_tolerance == doctest::Approx(0.5 / 0.011));
}

TEST_CASE("not-a-number, another shape, a missing tensor and another integer fail") {
  const at::Tensor one = at::ones({2});
  CHECK_FALSE(compare(one * std::numeric_limits<double>::quiet_NaN(), one).pass);
  CHECK(compare(at::ones({2, 1}), one).note == "shape [2, 1]");
  CHECK(compare({}, one).note == "missing");
  const at::Tensor ids = at::tensor({1, 2}, at::kLong);
  CHECK(compare(ids, ids).pass);
  CHECK(compare(ids, ids).note.empty());
  CHECK_FALSE(compare(ids + 1, ids).pass);
  CHECK(compare(ids + 1, ids).note == "2 of 2 differ, by at most 1");
  CHECK(compare(at::tensor({4, 2}, at::kLong), ids).note == "1 of 2 differ, by at most 3");
  const at::Tensor first = at::tensor({1, 0}).to(at::kBool);
  CHECK(compare(at::tensor({1, 7}, at::kLong), ids, first).note.empty());
}

TEST_CASE("padded positions are not compared, and half precision widens the tolerance") {
  const at::Tensor expected = at::ones({2, 3});
  at::Tensor actual = expected.clone();
  actual[1][2] = 7;
  const at::Tensor valid = at::tensor({1, 1, 1, 1, 1, 0}).view({2, 3}).to(at::kBool);
  const auto row = compare(actual, expected, valid);
  CHECK(row.pass);
  CHECK(row.compared == 5);
  CHECK_FALSE(compare(expected * 1.08, expected).pass);
  CHECK(compare(expected * 1.08, expected, {}, at::kBFloat16).pass);
}

TEST_CASE("a file that is no reference file says what its metadata lacks") {
  for (const char* key : {"s2s.reference", "kind", "name", "options", "rtol", "atol"}) {
    auto metadata = good_metadata();
    metadata.erase(key);
    const std::string error = reference_error(metadata);
    CHECK(has(error, "[reference/metadata]"));
    CHECK(has(error, std::string("'") + key + "' is missing"));
  }
  auto metadata = good_metadata();
  metadata["s2s.reference"] = "2";
  CHECK(has(reference_error(metadata), "is '2', expected '1'"));
  metadata = good_metadata();
  metadata["rtol"] = "-1";
  CHECK(has(reference_error(metadata), "a number of at least 0"));
  metadata = good_metadata();
  metadata["kind"] = "scorer";
  CHECK(has(reference_error(metadata), "llm, encoder, codec or model"));
  metadata["options"] = "{";
  CHECK(has(reference_error(metadata), "[weights/json]"));
  metadata = good_metadata();
  metadata["bfloat16"] = R"({"draws": 2, "errors": {}})";
  CHECK(has(reference_error(metadata), "an object of draws, nudge and errors"));
  metadata["bfloat16"] = R"({"draws": 0, "nudge": 0.1, "errors": {}})";
  CHECK(has(reference_error(metadata), "draws of at least 1"));
}

TEST_CASE("types and devices are read by name") {
  CHECK((s2s::parse_dtype("bf16") == at::kBFloat16));
  CHECK(has(error_of([] { s2s::parse_dtype("int8"); }), "[reference/dtype]"));
  CHECK(s2s::parse_device("cpu").is_cpu());
  CHECK(has(error_of([] { s2s::parse_device("toaster"); }), "[reference/device]"));
}
