#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/weights.h"
#include "weights/finite.h"
#include "weights/safetensors.h"

using namespace s2s::test;

namespace {

class Pair : public s2s::Block {
 public:
  Pair() {
    register_block("first", first);
    register_block("second", second);
    register_buffer("count", count);
    register_buffer("table", table, false);
  }
  s2s::Linear first{3, 2}, second{2, 2, false};
  at::Tensor count, table;

 private:
  void reset_buffers() override {
    count = at::zeros({}, at::kLong);
    table = at::ones({2});
  }
};

const s2s::NameMap kNames{{{"**", "model.**"}}, {"model.*.inv_freq"}};

s2s::TensorMap good_tensors() {
  return {{"model.first.weight", at::rand({2, 3})},
          {"model.first.bias", at::rand({2})},
          {"model.second.weight", at::rand({2, 2})},
          {"model.count", at::scalar_tensor(7, at::kLong)},
          {"model.first.inv_freq", at::rand({9})}};
}

std::string load_error(const s2s::TensorMap& tensors) {
  Pair pair;
  pair.materialize(at::kCPU, at::kFloat, 1);
  const at::Tensor before = pair.first.bias.clone();
  const std::string error = error_of([&] { s2s::load_weights(pair, kNames, tensors, "w"); });
  CHECK(at::equal(pair.first.bias, before));
  return error;
}

}  // namespace

TEST_CASE("weights are loaded through the name map, cast, and exported again") {
  Pair pair;
  pair.materialize(at::kCPU, at::kDouble, 1);
  const s2s::TensorMap tensors = good_tensors();
  s2s::load_weights(pair, kNames, tensors, "w");
  CHECK(at::equal(pair.first.weight, tensors.at("model.first.weight").to(at::kDouble)));
  CHECK(pair.first.weight.requires_grad());
  CHECK(pair.count.item<int64_t>() == 7);
  const s2s::TensorMap exported = s2s::export_weights(pair, kNames);
  CHECK(exported.size() == 4);
  CHECK(at::equal(exported.at("model.second.weight"), pair.second.weight));
}

TEST_CASE("all tensors that do not fit are listed in one message with the nearest names") {
  s2s::TensorMap tensors = good_tensors();
  tensors["model.first.weights"] = tensors["model.first.weight"];
  tensors.erase("model.first.weight");
  tensors["model.second.weight"] = at::rand({2, 5});
  tensors["unrelated"] = at::rand({1});
  const std::string error = load_error(tensors);
  CHECK(has(error, "[weights/mismatch]"));
  CHECK(has(error, "4 differences"));
  CHECK(has(error, "'model.first.weight' is missing; nearest: 'model.first.weights'"));
  CHECK(has(error, "'model.first.weights' is not expected; nearest: 'model.first.weight'"));
  CHECK(has(error, "'model.second.weight' has shape [2, 5], expected [2, 2]"));
  CHECK(has(error, "'unrelated' is not expected"));
}

TEST_CASE("a number that is not finite is named with its place, and nothing is loaded") {
  s2s::TensorMap tensors = good_tensors();
  tensors["model.first.weight"][1][2] = std::numeric_limits<float>::quiet_NaN();
  const std::string error = load_error(tensors);
  CHECK(has(error, "[weights/not-finite]"));
  CHECK(has(error, "'model.first.weight' is nan at [1, 2]"));
}

TEST_CASE("a folder is read through its index, or all its files") {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "one.safetensors", {{"a", at::ones({1})}});
  s2s::write_safetensors(folder / "two.safetensors", {{"b", at::ones({2})}});
  CHECK(s2s::read_weights(folder.path()).size() == 2);
  CHECK(s2s::read_weights(folder / "two.safetensors").count("b") == 1);

  s2s::write_safetensors(folder / "three.safetensors", {{"b", at::ones({3})}});
  CHECK(has(error_of([&] { s2s::read_weights(folder.path()); }), "[weights/duplicate]"));
  const std::string index = folder / "model.safetensors.index.json";
  write_bytes(index, R"({"weight_map":{"a":"one.safetensors","b":"three.safetensors"}})");
  CHECK(s2s::read_weights(folder.path()).at("b").numel() == 3);
  write_bytes(index, R"({"weight_map":{"a":"../one.safetensors"}})");
  CHECK(has(error_of([&] { s2s::read_weights(folder.path()); }), "[weights/index]"));
  write_bytes(index, R"({"weight_map":)");
  CHECK(has(error_of([&] { s2s::read_weights(folder.path()); }), "[weights/json]"));
}

TEST_CASE("a configuration that nests without end is refused") {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  CHECK(s2s::parse_json(nested(64), "config.json").is_list());
  CHECK(has(error_of([&] { s2s::parse_json(nested(65), "config.json"); }),
            "[weights/json] 'config.json' is not JSON: it is nested deeper than 64"));
  CHECK(has(error_of([&] { s2s::parse_json(nested(100000), "config.json"); }), "[weights/json]"));
}

TEST_CASE("everything that is wrong with an index is listed") {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "one.safetensors", {{"a", at::ones({1})}});
  const std::string index = folder / "model.safetensors.index.json";
  const auto index_error = [&](const std::string& text) {
    write_bytes(index, text);
    return error_of([&] { s2s::read_weights(folder.path()); });
  };
  const std::string error = index_error(
      R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"gone.safetensors",)"
      R"("d":"gone.safetensors"}})");
  CHECK(has(error, "[weights/index]"));
  CHECK(has(error, "2 differences"));
  CHECK(has(error, "gone.safetensors' is missing (2 tensors)"));
  CHECK(has(error, "one.safetensors' has no tensor 'b'"));
  CHECK(has(index_error(R"({"weight_map":{"a":3}})"), "tensor 'a': number is not the name"));
  CHECK(has(index_error("[]"), "no 'weight_map'"));
  // A tensor of the file that the index does not name is not read.
  CHECK(index_error(R"({"weight_map":{}})").empty());
  CHECK(s2s::read_weights(folder.path()).empty());
}

TEST_CASE("a folder's own model.safetensors goes before what lies beside it") {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "model.safetensors", {{"a", at::ones({1})}});
  s2s::write_safetensors(folder / "consolidated.safetensors", {{"b", at::ones({1})}});
  s2s::write_safetensors(folder / "adapter_model.safetensors", {{"c", at::ones({1})}});
  CHECK(s2s::read_weights(folder.path()).count("a") == 1);
  CHECK(s2s::read_weights(folder.path()).size() == 1);
  std::filesystem::remove(folder.path() / "model.safetensors");
  CHECK(s2s::read_weights(folder.path()).count("b") == 1);
  CHECK(s2s::read_weights(folder.path()).size() == 1);
}

TEST_CASE("parts of tensors are read, and only parts that are there") {
  const TemporaryFolder folder;
  const at::Tensor whole = at::rand({6, 4});
  s2s::write_safetensors(folder / "w.safetensors", {{"w", whole}});
  const auto files = s2s::WeightFiles::open(folder.path());
  CHECK((files.facts().at("w").sizes == std::vector<int64_t>{6, 4}));
  CHECK(at::equal(files.read("w", {0, 2, 3}), whole.narrow(0, 2, 3)));
  CHECK(at::equal(files.read("w", {1, 0, 2}), whole.narrow(1, 0, 2)));
  CHECK(files.read("w", {1, 0, 2}).is_contiguous());
  CHECK(has(error_of([&] { files.read("w", {0, 4, 3}); }), "[weights/slice]"));
  CHECK(has(error_of([&] { files.read("w", {0, 4, 3}); }), "elements 4 to 6 in dim 0"));
  CHECK(has(error_of([&] { files.read("w", {2, 0, 1}); }), "[weights/slice]"));
  CHECK(has(error_of([&] { files.read("w", {0, -1, 1}); }), "[weights/slice]"));
  CHECK(has(error_of([&] { files.read("v", {0, 0, 1}); }), "[weights/no-tensor]"));
}

TEST_CASE("a rank loads its parts of the stored tensors") {
  const TemporaryFolder folder;
  s2s::TensorMap tensors = good_tensors();
  const at::Tensor wide = at::rand({2, 9}), tall = at::rand({8, 2});
  tensors["model.first.weight"] = wide;
  tensors["model.second.weight"] = tall;
  s2s::write_safetensors(folder / "model.safetensors", tensors);
  Pair pair;
  pair.materialize(at::kCPU, at::kFloat, 1);
  const auto files = s2s::WeightFiles::open(folder.path());
  std::vector<s2s::NamedTensor> ours = pair.named_parameters();
  for (const s2s::NamedTensor& buffer : pair.named_buffers()) {
    if (buffer.persistent) ours.push_back(buffer);
  }
  std::map<std::string, s2s::TensorSlice> slices = {{"first.weight", {1, 3, 3}},
                                                    {"second.weight", {0, 6, 2}}};
  s2s::load_tensors(ours, kNames, files, slices);
  CHECK(at::equal(pair.first.weight, wide.narrow(1, 3, 3)));
  CHECK(at::equal(pair.second.weight, tall.narrow(0, 6, 2)));
  CHECK(at::equal(pair.first.bias, tensors.at("model.first.bias")));
  slices["first.weight"] = {1, 0, 4};
  CHECK(has(error_of([&] { s2s::load_tensors(ours, kNames, files, slices); }),
            "'model.first.weight' has shape [2, 9], a part [2, 4], expected [2, 3]"));
  slices["first.weight"] = {1, 8, 3};
  CHECK(has(error_of([&] { s2s::load_tensors(ours, kNames, files, slices); }), "[weights/slice]"));
}

TEST_CASE("large tensors are checked to their last element, in every type") {
  for (const auto type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::ScalarType::Float8_e5m2}) {
    const at::Tensor good = at::ones({3, 100003}).to(type);
    CHECK_FALSE(s2s::find_not_finite(good).has_value());
    for (const auto& [row, column] : {std::pair{0, 0}, {1, 50000}, {2, 100002}}) {
      at::Tensor bad = at::ones({3, 100003});
      bad[row][column] = -std::numeric_limits<float>::infinity();
      const auto found = s2s::find_not_finite(bad.to(type));
      REQUIRE(found.has_value());
      CHECK((found->index == std::vector<int64_t>{row, column}));
      CHECK(found->value < 0);
    }
  }
}

TEST_CASE("folders without weights and paths that lead nowhere say so") {
  const TemporaryFolder folder;
  CHECK(has(error_of([&] { s2s::read_weights(folder.path()); }), "no *.safetensors file"));
  CHECK(has(error_of([&] { s2s::read_weights(folder / "x"); }), "no such file or folder"));
  CHECK(has(error_of([&] { s2s::read_json(folder / "x"); }), "[weights/unreadable]"));
  CHECK(s2s::resolve_path("a/b", "/base") == "/base/a/b");
  CHECK(s2s::resolve_path("/a", "/base") == "/a");
}

TEST_CASE("a part that was given a checkpoint reads it when the model gets memory") {
  struct Fives : s2s::WeightSource {
    explicit Fives(const at::Tensor& member) : whose(&member) {}
    std::vector<const at::Tensor*> members() const override { return {whose}; }
    void write(const at::Tensor* member, const at::Tensor& destination) const override {
      CHECK(member == whose);
      destination.fill_(5);
    }
    const at::Tensor* whose;
  };
  struct Loaded : s2s::Block {
    Loaded() { register_block("first", first); }
    std::unique_ptr<s2s::WeightSource> initial_values() override {
      return std::make_unique<Fives>(first.weight);
    }
    s2s::Linear first{3, 2};
  };
  Loaded loaded;
  loaded.materialize(at::kCPU, at::kFloat, 1);
  CHECK(at::equal(loaded.first.weight, at::full({2, 3}, 5.0)));
  CHECK(has(error_of([] { s2s::throw_unsupported_config("config.json", "k", "3", "4"); }),
            "[weights/config]"));
}
