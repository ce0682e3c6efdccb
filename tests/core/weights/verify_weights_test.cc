#include "weights/verify_weights.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "weights/safetensors.h"
#include "weights/weight_shards.h"

using namespace s2s::test;

namespace {

/// All findings in one text.
std::string findings(const std::string& path) {
  std::string text;
  for (const std::string& finding : s2s::verify_weights(path).findings) text += finding + "\n";
  return text;
}

}  // namespace

TEST_CASE("weights that are whole have no finding, and everything was read") {
  const TemporaryFolder folder;
  const s2s::TensorMap tensors = {{"a", at::rand({30})}, {"b", at::rand({30})}};
  s2s::write_weight_shards(folder.path(), tensors, {100, {}});
  const s2s::WeightsVerdict verdict = s2s::verify_weights(folder.path());
  CHECK(verdict.findings.empty());
  CHECK(verdict.num_files == 2);
  CHECK(verdict.num_tensors == 2);
  CHECK(verdict.num_bytes == 240);
  CHECK(has(error_of([&] { s2s::verify_weights(folder / "none"); }), "[weights/unreadable]"));
}

TEST_CASE("all that is wrong with a folder is named at once") {
  const TemporaryFolder folder;
  at::Tensor bad = at::ones({3, 4});
  bad[2][1] = std::numeric_limits<float>::quiet_NaN();
  s2s::write_safetensors(folder / "one.safetensors", {{"a", bad}, {"extra", at::ones({1})}});
  s2s::write_safetensors(folder / "two.safetensors", {{"b", at::ones({50})}});
  const std::string two = read_bytes(folder / "two.safetensors");
  write_bytes(folder / "two.safetensors", two.substr(0, two.size() - 20));
  write_bytes(folder / "model.safetensors.index.json",
              R"({"metadata":{"total_size":1},"weight_map":{"a":"one.safetensors",)"
              R"("lost":"one.safetensors","b":"two.safetensors","c":"three.safetensors"}})");
  const std::string all = findings(folder.path());
  CHECK(has(all, "three.safetensors' is missing; the index expects 1 tensors in it"));
  CHECK(has(all, "'a' is nan at [2, 1]"));
  CHECK(has(all, "[weights/format]"));
  CHECK(has(all, "tensor 'lost' is in"));
  CHECK(has(all, "has tensor 'extra', which the index"));
}

TEST_CASE("an index that says another size is found, and tensors that are there twice") {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "one.safetensors", {{"a", at::ones({3})}});
  write_bytes(folder / "model.safetensors.index.json",
              R"({"metadata":{"total_size":16},"weight_map":{"a":"one.safetensors"}})");
  CHECK(has(findings(folder.path()), "says that the tensors have 16 bytes, they have 12"));
  std::filesystem::remove(folder / "model.safetensors.index.json");
  s2s::write_safetensors(folder / "two.safetensors", {{"a", at::ones({3})}});
  CHECK(has(findings(folder.path()), "tensor 'a' is in"));
}

TEST_CASE("an index that cannot be read is a finding") {
  const TemporaryFolder folder;
  write_bytes(folder / "model.safetensors.index.json", R"({"weight_map":{"a":"../a"}})");
  CHECK(has(findings(folder.path()), "[weights/index]"));
}
