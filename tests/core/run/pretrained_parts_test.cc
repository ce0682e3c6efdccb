#include "run/pretrained_parts.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "config/yaml_reader.h"
#include "core/train/fake_run.h"
#include "run/run_builder.h"
#include "weights/safetensors.h"

namespace {

using s2s::Config;
using s2s::TensorMap;

/// perception.weight, perception.bias, perception.mean (a buffer), linear.*. The checkpoint's name
/// of `linear` is `head`.
class HearingModel : public s2s::test::FakeModel {
 public:
  HearingModel() : perception_(3, 2) {
    perception_.register_buffer("mean", mean_);
    register_block("perception", perception_);
    mean_ = at::zeros({2});
  }
  s2s::NameMap checkpoint_names() const override {
    return {{{"linear.**", "head.**"}, {"**", "**"}}, {"ignored.**"}};
  }

 private:
  struct Perception : s2s::Linear {
    using s2s::Block::register_buffer;
    using s2s::Linear::Linear;
  };
  Perception perception_;
  at::Tensor mean_;
};

struct Started {
  std::map<std::string, at::Tensor> values;
  std::vector<std::string> warnings;
};

/// The initial values of a run with these keys of `model`.
Started start(const std::string& keys) {
  s2s::Registries registries;
  s2s::Component<s2s::Model> component;
  component.name = "hearing";
  component.create = [](const Config&, const s2s::ModelContext&) -> std::unique_ptr<s2s::Model> {
    return std::make_unique<HearingModel>();
  };
  registries.of<s2s::Model>().add(component);
  Started started;
  s2s::Warnings warnings;
  warnings.send_to([&](const std::string& message) { started.warnings.push_back(message); });
  const Config config = s2s::parse_yaml(
      "{model: {type: hearing, " + keys + "}, trainer: {accelerator: cpu}}", "test.yaml");
  const s2s::RunBuilder builder(config, registries, warnings);
  const auto model = builder.model(nullptr);
  for (const auto& t : model->named_parameters()) started.values[t.name] = t.tensor->clone();
  for (const auto& t : model->named_buffers()) started.values[t.name] = t.tensor->clone();
  return started;
}

std::string write(const s2s::test::TemporaryFolder& folder, const char* name,
                  const TensorMap& tensors) {
  const std::string path = (folder.path() / name).string();
  s2s::write_safetensors(path, tensors, {});
  return path;
}

TensorMap whole(double value) {
  return {{"perception.weight", at::full({2, 3}, value)},
          {"perception.bias", at::full({2}, value)},
          {"perception.mean", at::full({2}, value)},
          {"head.weight", at::full({1, 6}, value)},
          {"head.bias", at::full({1}, value)}};
}

bool holds(const at::Tensor& tensor, double value) { return (tensor == value).all().item<bool>(); }

}  // namespace

TEST_CASE("a checkpoint gives its perception only, or every tensor under NeMo's names") {
  const s2s::test::TemporaryFolder folder;
  const std::string path = write(folder, "whole.safetensors", whole(2));
  const Started heard = start("pretrained_perception_from_s2s: " + path);
  for (const char* name : {"perception.weight", "perception.bias", "perception.mean"}) {
    INFO(name);
    CHECK(holds(heard.values.at(name), 2));
  }
  CHECK(at::equal(heard.values.at("linear.weight"), start("").values.at("linear.weight")));
  CHECK(heard.warnings.empty());
  for (const char* key : {"pretrained_s2s_model: ", "init_from_checkpoint: "}) {
    const Started started = start(key + path);
    for (const auto& [name, value] : started.values) CHECK_MESSAGE(holds(value, 2), name);
  }
}

TEST_CASE("of several keys the last one of NeMo's order counts, also without pretrained weights") {
  const s2s::test::TemporaryFolder folder;
  const Started started =
      start("pretrained_weights: false, init_from_checkpoint: " +
            write(folder, "a.safetensors", {{"head.bias", at::full({1}, 3.0)}}) +
            ", pretrained_s2s_model: " + write(folder, "b.safetensors", whole(2)) +
            ", pretrained_perception_from_s2s: " + write(folder, "c.safetensors", whole(1)));
  CHECK(holds(started.values.at("linear.bias"), 3));
  CHECK(holds(started.values.at("linear.weight"), 2));
  CHECK(holds(started.values.at("perception.mean"), 2));
}

TEST_CASE("tensors that do not fit keep their values, and one warning names them") {
  const s2s::test::TemporaryFolder folder;
  TensorMap tensors = whole(2);
  tensors["head.weight"] = at::zeros({1, 7});
  tensors.erase("perception.mean");
  tensors["another.tensor"] = at::zeros({1});
  const Started started = start("init_from_checkpoint: " + write(folder, "x.safetensors", tensors));
  CHECK(holds(started.values.at("perception.weight"), 2));
  CHECK(at::equal(started.values.at("linear.weight"), start("").values.at("linear.weight")));
  REQUIRE(started.warnings.size() == 1);
  const std::string& said = started.warnings[0];
  CHECK(said.find("model.init_from_checkpoint (test.yaml:1") != std::string::npos);
  CHECK(said.find("gives 3 tensors") != std::string::npos);
  CHECK(said.find("linear.weight (shape [1, 7] there, [1, 6] here)") != std::string::npos);
  CHECK(said.find("perception.mean") != std::string::npos);
}

TEST_CASE("a checkpoint without a tensor of the model, or that is missing, is one error") {
  const s2s::test::TemporaryFolder folder;
  const std::string path = write(folder, "x.safetensors", {{"head.weight", at::zeros({1, 6})}});
  CHECK_THROWS_WITH_AS(start("pretrained_perception_from_s2s: " + path),
                       doctest::Contains("[checkpoint/nothing-fits]"), s2s::Error);
  CHECK_THROWS_WITH_AS(start("pretrained_s2s_model: " + (folder.path() / "none").string()),
                       doctest::Contains("model.pretrained_s2s_model (test.yaml:1"), s2s::Error);
}
