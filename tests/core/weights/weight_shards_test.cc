#include "weights/weight_shards.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

s2s::TensorMap some_tensors() {
  return {{"a", at::rand({10})}, {"b", at::rand({100})}, {"c", at::rand({5})},
          {"d", at::rand({5})},  {"e", at::rand({5})},   {"n", at::arange(3)}};
}

void check_same(const std::string& folder, const s2s::TensorMap& expected) {
  const s2s::TensorMap read = s2s::read_weights(folder);
  REQUIRE(read.size() == expected.size());
  for (const auto& [name, tensor] : expected) CHECK_MESSAGE(at::equal(read.at(name), tensor), name);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("weights that fit one file are one file") {
  const TemporaryFolder folder;
  const s2s::TensorMap tensors = some_tensors();
  const s2s::WrittenShards written = s2s::write_weight_shards(folder.path(), tensors, {});
  CHECK(written.num_files == 1);
  CHECK(written.total_bytes == 4 * 125 + 8 * 3);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"model.safetensors"});
  check_same(folder.path(), tensors);
}

TEST_CASE("larger ones are shards named as transformers names them, with an index") {
  const TemporaryFolder folder;
  const s2s::TensorMap tensors = some_tensors();
  const s2s::WrittenShards written = s2s::write_weight_shards(folder.path(), tensors, {64, {}});
  CHECK(written.num_files == 4);  // a; b, larger than a shard; c, d and e; n
  CHECK(names_in(folder.path()) == std::vector<std::string>{"model-00001-of-00004.safetensors",
                                                            "model-00002-of-00004.safetensors",
                                                            "model-00003-of-00004.safetensors",
                                                            "model-00004-of-00004.safetensors",
                                                            "model.safetensors.index.json"});
  const auto index = nlohmann::json::parse(read_bytes(folder / "model.safetensors.index.json"));
  CHECK(index["metadata"]["total_size"] == written.total_bytes);
  CHECK(index["weight_map"]["b"] == "model-00002-of-00004.safetensors");
  CHECK(index["weight_map"]["e"] == "model-00003-of-00004.safetensors");
  const auto first = s2s::SafetensorsFile::open(folder / "model-00001-of-00004.safetensors");
  CHECK(first.metadata().at("format") == "pt");
  check_same(folder.path(), tensors);
}

TEST_CASE("floating tensors are cast while they are written, and count as they are written") {
  const TemporaryFolder folder;
  const s2s::TensorMap tensors = some_tensors();
  const s2s::ShardSettings halves{230, at::kBFloat16};
  CHECK(s2s::write_weight_shards(folder.path(), tensors, halves).num_files == 2);
  s2s::TensorMap cast = tensors;
  for (auto& [name, tensor] : cast) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kBFloat16);
  }
  check_same(folder.path(), cast);
}

TEST_CASE("what an earlier export left is removed, and nothing else") {
  const TemporaryFolder folder;
  s2s::write_weight_shards(folder.path(), some_tensors(), {64, {}});
  write_bytes(folder / "adapter_model.safetensors", "mine");
  write_bytes(folder / "model-mine.safetensors", "mine");
  const s2s::TensorMap fewer = {{"a", at::ones({2})}};
  s2s::write_weight_shards(folder.path(), fewer, {});
  CHECK(names_in(folder.path()) == std::vector<std::string>{"adapter_model.safetensors",
                                                            "model-mine.safetensors",
                                                            "model.safetensors"});
  check_same(folder.path(), fewer);
}
