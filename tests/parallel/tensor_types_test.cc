// Tensor parallelism in 16 bits: the types of the whole model, and its values but for rounding.

#include <doctest/doctest.h>

#include "parallel/tensor_run.h"
#include "plugins/llm_fixture.h"
#include "train/precision.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kTypesTolerance = 0.1;  // roundings of 1/256; a sum that lacks a part is far off

constexpr const char* kModel = R"({"name": "llama", "hidden_size": 32, "num_hidden_layers": 2,
  "vocab_size": 50, "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2,
  "attention_bias": true, "mlp_bias": true})";

std::unique_ptr<Backbone> make_model(LlmPlugins& plugins, at::ScalarType type) {
  auto model = plugins.create(kModel);
  model->materialize(at::kCPU, at::kFloat, 1);
  scatter_values(*model);
  model->to(at::kCPU, type);
  return model;
}

struct TypedPass {
  at::Tensor hidden_BTH, loss, logits;
};

TypedPass run(Backbone& model, const Precision& precision) {
  const AutocastScope scope(precision, at::kCPU);
  const at::Tensor ids_BT = at::arange(14).view({2, 7}) * 3;
  TypedPass pass;
  pass.hidden_BTH = model(model.embed(ids_BT), SequenceInfo{});
  pass.loss = linear_cross_entropy(pass.hidden_BTH.flatten(0, 1), model.head(),
                                   ids_BT.reshape({-1, 1}) + 1);
  pass.logits = model.logits(pass.hidden_BTH);
  return pass;
}

void compare(const char* what, const at::Tensor& own, const at::Tensor& expected,
             Differences& differences) {
  differences.add(std::string("type of ") + what,
                  own.scalar_type() == expected.scalar_type() ? 0 : 1);
  differences.add(what, relative_difference(own.to(at::kFloat), expected.to(at::kFloat)));
}

}  // namespace

TEST_CASE("what is computed in 16 bits has the same types on tensor ranks") {
  LlmPlugins plugins;
  for (const char* name : {"bf16-true", "bf16-mixed", "16-mixed"}) {
    const Precision precision = parse_precision(name, "test");
    for (const bool split : {false, true}) {
      CAPTURE(std::string(name));
      CAPTURE(split);
      const auto whole = make_model(plugins, precision.parameter_type);
      const TypedPass expected = run(*whole, precision);
      expected.loss.backward();
      const Gradients gradients = gradients_of(*whole);
      std::vector<std::unique_ptr<Backbone>> models;
      for (int rank = 0; rank < 2; ++rank) {
        models.push_back(make_model(plugins, precision.parameter_type));
      }
      Differences differences;
      const auto errors = run_thread_ranks(2, [&](Communicator& world) {
        const MeshShape shape = tensor_mesh(2, split);
        const MeshGroups mesh(world, shape);
        Backbone& model = *models[static_cast<size_t>(world.rank())];
        const SplitDoors hooks(model, model.configure_model(shape), mesh);
        const TypedPass pass = run(model, precision);
        pass.loss.backward();
        compare("hidden", pass.hidden_BTH, expected.hidden_BTH, differences);
        compare("loss", pass.loss, expected.loss, differences);
        compare("logits", pass.logits, expected.logits, differences);
        const Furthest furthest = compare_gradients(model, hooks.split(), gradients);
        differences.add("gradient of " + furthest.name, furthest.difference);
      });
      CHECK(errors == std::vector<std::string>(2));
      differences.check(kTypesTolerance);
    }
  }
}
