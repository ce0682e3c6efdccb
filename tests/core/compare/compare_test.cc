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
  metadata["kind"] = "metric";
  CHECK(has(reference_error(metadata), "llm, encoder, codec or model"));
  metadata["options"] = "{";
  CHECK(has(reference_error(metadata), "[weights/json]"));
  metadata = good_metadata();
  metadata["bfloat16"] = R"({"draws": 2, "errors": {}})";
  CHECK(has(reference_error(metadata), "an object of draws, nudge and errors"));
  metadata["bfloat16"] = R"({"draws": 0, "nudge": 0.1, "errors": {}})";
  CHECK(has(reference_error(metadata), "draws of at least 1"));
}

TEST_CASE("drawn tensors are those of NumPy's default_rng") {
  const TemporaryFolder folder;
  auto metadata = good_metadata();
  const std::string how = R"("seed": 7, "low": -0.5, "high": 0.25, "shape": [2, 3])";
  metadata["drawn"] =
      R"({"weights/a": {)" + how + R"(}, "input/audio": {)" + how + R"(, "lengths": [3, 1]}})";
  s2s::write_safetensors(folder / "r", {{"weights/b", at::zeros({1})}}, metadata);
  const s2s::ReferenceFile file = s2s::read_reference(folder / "r");
  const at::Tensor numpy = at::tensor({-0.0311783999F, 0.172910348F, 0.0817642659F, -0.331094593F,
                                       -0.274875283F, 0.155165091F})
                               .view({2, 3});
  CHECK(file.weights.size() == 2);
  CHECK(at::equal(file.weights.at("a"), numpy));
  at::Tensor ended = numpy.clone();
  ended[1].slice(0, 1).zero_();
  CHECK(at::equal(file.input("audio"), ended));
}

TEST_CASE("sparse weights have their elements at the indices, and zeros elsewhere") {
  const TemporaryFolder folder;
  auto metadata = good_metadata();
  metadata["sparse"] = R"({"weights/a": {"shape": [2, 3]}})";
  const at::Tensor values = at::tensor({0.5F, -2.0F});
  const auto read = [&](const at::Tensor& index) {
    s2s::write_safetensors(folder / "r", {{"weights/a", values}, {"index/weights/a", index}},
                           metadata);
    return s2s::read_reference(folder / "r").weights.at("a");
  };
  const at::Tensor whole = at::tensor({0.0F, 0.5F, 0.0F, 0.0F, -2.0F, 0.0F}).view({2, 3});
  CHECK(at::equal(read(at::tensor({1, 4}, at::kInt)), whole));
  for (const at::Tensor& index : {at::tensor({1, 6}, at::kInt), at::tensor({1}, at::kInt)}) {
    CHECK(has(error_of([&] { read(index); }), "'sparse.weights/a' is 'of another size'"));
  }
}

TEST_CASE("a tensor is drawn only with all its keys, a possible shape and a length of each row") {
  const auto error = [](const std::string& keys) {
    auto metadata = good_metadata();
    metadata["drawn"] = R"({"weights/a": {"seed": 7, "low": 0, )" + keys + "}}";
    return reference_error(metadata);
  };
  CHECK(has(error(R"("shape": [2])"), "'drawn.weights/a.high' is missing"));
  CHECK(has(error(R"("high": 1, "shape": [-2])"), "'drawn.weights/a.shape' is '-2', expected"));
  CHECK(has(error(R"("high": 1, "shape": [65536, 65536])"), "at most 2^24 elements"));
  CHECK(has(error(R"("high": 1, "shape": [2, 2], "lengths": [1])"), "one for each row"));
}

TEST_CASE("of a sampled gradient, a mistake between the samples is found by the norm") {
  const at::Tensor gradient = at::linspace(-1, 2, 6144).view({64, 96});
  s2s::ReferenceFile reference;
  reference.rtol = 1e-4;
  reference.atol = 1e-5;
  const s2s::SampledTensor sample = {7, gradient.norm().item<double>(), {64, 96}};
  reference.sampled["grad/x"] = sample;
  const at::Tensor indices = sample.indices(512);
  CHECK(indices[0].item<int64_t>() == 3840);
  CHECK(indices[1].item<int64_t>() == 5512);
  const at::Tensor expected = gradient.flatten().index_select(0, indices);
  const auto row_of = [&](const at::Tensor& actual) {
    s2s::Comparison comparison(reference, {});
    comparison.add("grad/x", actual, expected);
    return comparison.rows().front();
  };
  const auto same = row_of(gradient);
  CHECK(same.pass);
  CHECK(same.shape == "[64, 96]");
  CHECK(same.compared == 512);
  CHECK(row_of(at::zeros({96, 64})).note == "shape [96, 64]");
  CHECK(row_of({}).note == "missing");

  at::Tensor changed = gradient.clone();
  changed.view(-1)[indices[5]] += 0.01;
  CHECK_FALSE(row_of(changed).pass);
  CHECK(row_of(changed).note.empty());

  // The elements of one row that are not in the sample are a tenth too large.
  at::Tensor is_sampled = at::zeros({6144}, at::kBool).index_fill(0, indices, true);
  const at::Tensor scaled = gradient.clone();
  scaled[60].mul_(1.1);
  const auto row = row_of(at::where(is_sampled.view({64, 96}), gradient, scaled));
  CHECK_FALSE(row.pass);
  CHECK(has(row.note, "norm "));

  // One element that is not in the sample has the wrong sign and twice its size.
  changed = gradient.clone();
  const int64_t other = is_sampled.logical_not().nonzero()[-1].item<int64_t>();
  changed.view(-1)[other] *= -2;
  CHECK_FALSE(row_of(changed).pass);
}

TEST_CASE("types and devices are read by name") {
  CHECK((s2s::parse_dtype("bf16") == at::kBFloat16));
  CHECK(has(error_of([] { s2s::parse_dtype("int8"); }), "[reference/dtype]"));
  CHECK(s2s::parse_device("cpu").is_cpu());
  CHECK(has(error_of([] { s2s::parse_device("toaster"); }), "[reference/device]"));
}
