// Tensor and sequence parallelism of the decoder families against the whole model.

#include <doctest/doctest.h>

#include <cmath>

#include "nn/lora.h"
#include "parallel/tensor_run.h"
#include "plan/planned_model.h"
#include "plan/traffic.h"
#include "plugins/llm_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kTolerance = 1e-5;
constexpr int64_t kRows = 2;
constexpr int64_t kLength = 7;  // neither 2 nor 4 ranks divide it

// Two key/value heads, so that four ranks hold each twice; 50 ids, so that the last holds fewer.
const char* const kSizes = R"(, "hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 50,
  "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8})";

const char* const kFamilies[] = {
    R"({"name": "llama")",
    R"({"name": "llama", "tie_word_embeddings": true, "attention_bias": true, "mlp_bias": true)",
    R"({"name": "tinyllama")",
    R"({"name": "gemma", "model_type": "gemma")",
    R"({"name": "gemma", "model_type": "gemma2", "sliding_window": 4)",
    R"({"name": "gemma", "sliding_window": 4, "sliding_window_pattern": 2)",
    R"({"name": "qwen", "model_type": "qwen2", "tie_word_embeddings": true)",
    R"({"name": "qwen", "model_type": "qwen3", "use_sliding_window": true, "sliding_window": 4,
        "max_window_layers": 1)"};

struct Text {
  at::Tensor ids_BT, labels_NK;
};

Text some_text(int64_t vocabulary, int64_t length = kLength) {
  at::manual_seed(5);
  return {at::randint(vocabulary, {kRows, length}, at::kLong),
          at::randint(vocabulary, {kRows * length, 1}, at::kLong)};
}

struct Pass {
  at::Tensor hidden_BTH, loss;
};

Pass forward(Backbone& model, const Text& text) {
  const at::Tensor hidden_BTH = model(model.embed(text.ids_BT), SequenceInfo{});
  const at::Tensor loss =
      linear_cross_entropy(hidden_BTH.flatten(0, 1), model.head(), text.labels_NK) /
      text.labels_NK.numel();
  return {hidden_BTH, loss};
}

/// The whole model's results, and as many copies of it as there are ranks.
struct Case {
  LlmPlugins& plugins;
  std::string json;
  std::function<void(Backbone&)> change = [](Backbone&) {};  // before it has memory
  std::function<bool(const std::string&)> is_trained = [](const std::string&) { return true; };
  at::ScalarType dtype = at::kFloat;

  std::unique_ptr<Backbone> make() const {
    auto model = plugins.create(json);
    change(*model);
    model->materialize(at::kCPU, dtype, 1);
    scatter_values(*model);
    for (NamedTensor& parameter : model->named_parameters()) {
      parameter.tensor->set_requires_grad(is_trained(parameter.name));
    }
    return model;
  }
  ShardPlan plan(Backbone& model, const MeshShape& shape) const {
    ShardPlan plan = model.configure_model(shape);
    add_lora_rows(model, plan);
    return plan;
  }
};

/// Each rank's model, made here, because plugins are loaded on one thread.
std::vector<std::unique_ptr<Backbone>> models_of_ranks(const Case& test, int64_t size) {
  std::vector<std::unique_ptr<Backbone>> models;
  for (int64_t rank = 0; rank < size; ++rank) models.push_back(test.make());
  return models;
}

void check_training(const Case& test, const MeshShape& shape, const Text& text) {
  const auto whole = test.make();
  const Pass expected = forward(*whole, text);
  expected.loss.backward();
  const Gradients gradients = gradients_of(*whole);
  const CrossEntropyRows rows = linear_cross_entropy_rows(
      expected.hidden_BTH.detach().flatten(0, 1), whole->head(), text.labels_NK);
  const at::Tensor logits = whole->logits(expected.hidden_BTH.detach());

  auto models = models_of_ranks(test, shape.tensor);
  std::vector<CollectiveLog> logs(models.size());
  Differences differences;
  const auto errors = run_thread_ranks(shape.tensor, [&](Communicator& world) {
    world.set_observer(&logs[static_cast<size_t>(world.rank())]);
    const MeshGroups mesh(world, shape);
    Backbone& model = *models[static_cast<size_t>(world.rank())];
    const SplitDoors hooks(model, test.plan(model, shape), mesh);
    const Pass pass = forward(model, text);
    pass.loss.backward();
    differences.add("hidden", relative_difference(pass.hidden_BTH, expected.hidden_BTH));
    differences.add("loss", relative_difference(pass.loss, expected.loss));
    const Furthest furthest = compare_gradients(model, hooks.split(), gradients, 1e-6);
    differences.add("gradient of " + furthest.name, furthest.difference);
    const CrossEntropyRows own = linear_cross_entropy_rows(pass.hidden_BTH.detach().flatten(0, 1),
                                                           model.head(), text.labels_NK);
    differences.add("loss of rows", relative_difference(own.loss_NK, rows.loss_NK));
    differences.add("predicted", at::equal(own.predicted_NK, rows.predicted_NK) ? 0 : 1);
    differences.add("logits", relative_difference(model.logits(pass.hidden_BTH.detach()), logits));
  });
  CHECK(errors == std::vector<std::string>(models.size()));
  differences.check(kTolerance);
  for (const CollectiveLog& log : logs) CHECK(log.lines() == logs[0].lines());
}

}  // namespace

TEST_CASE("every family on 2 and 4 tensor ranks gives the whole model's loss and gradients") {
  LlmPlugins plugins;
  for (const char* family : kFamilies) {
    for (const int64_t size : {2, 4}) {
      for (const bool sequence_parallel : {false, true}) {
        CAPTURE(std::string(family));
        CAPTURE(size);
        CAPTURE(sequence_parallel);
        check_training({plugins, family + std::string(kSizes)},
                       tensor_mesh(size, sequence_parallel), some_text(50));
      }
    }
  }
}

TEST_CASE("a vocabulary of 5 on 4 ranks leaves one of them without ids") {
  LlmPlugins plugins;
  for (const char* tied : {"true", "false"}) {
    const std::string json = R"({"name": "llama", "hidden_size": 16, "num_hidden_layers": 1,
      "vocab_size": 5, "intermediate_size": 16, "num_attention_heads": 4, "pad_token_id": 3,
      "tie_word_embeddings": )" +
                             std::string(tied) + "}";
    // In float32, all that the gradients of queries and keys have here is rounding.
    Case test{plugins, json};
    test.dtype = at::kDouble;
    check_training(test, tensor_mesh(4, true), some_text(5));
    check_training(test, tensor_mesh(4, false), some_text(5, 1));
  }
}

TEST_CASE("adapters beside split weights get the whole model's gradients, the frozen base none") {
  LlmPlugins plugins;
  const auto add = [](Backbone& model) {
    LoraOptions options;
    options.r = 3;
    options.target_modules = {"all-linear"};
    add_lora(model, options);
  };
  const auto is_adapter = [](const std::string& name) {
    return name.find(".lora_") != std::string::npos;
  };
  for (const char* family : {kFamilies[0], kFamilies[1], kFamilies[7]}) {
    for (const auto& [size, split] : {std::pair{2, true}, {2, false}, {4, true}}) {
      CAPTURE(std::string(family));
      CAPTURE(size);
      check_training({plugins, family + std::string(kSizes), add, is_adapter},
                     tensor_mesh(size, split), some_text(50));
    }
  }
}

TEST_CASE("a split leaves alone the layers whose boundary does the work for them") {
  LlmPlugins plugins;
  const Case test{plugins, kFamilies[1] + std::string(kSizes)};
  auto models = models_of_ranks(test, 2);
  const auto errors = run_thread_ranks(2, [&](Communicator& world) {
    const MeshShape shape = tensor_mesh(2, true);
    const MeshGroups mesh(world, shape);
    Backbone& model = *models[static_cast<size_t>(world.rank())];
    const SplitDoors hooks(model, test.plan(model, shape), mesh);
    const auto leaves = [&](const char* path) {
      return hooks.split().leaves_alone(*model.find_block(path));
    };
    for (const char* path : {"layers.1.self_attn.q_proj", "layers.0.self_attn.v_proj",
                             "layers.0.mlp.gate_proj", "layers.0.mlp.up_proj"}) {
      if (!leaves(path)) throw std::runtime_error(path);
    }
    for (const char* path : {"layers.1.self_attn", "layers.1.self_attn.o_proj", "layers.0.mlp",
                             "layers.0.mlp.down_proj", "embed_tokens"}) {
      if (leaves(path)) throw std::runtime_error(path);
    }
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("a model in eval mode gives the whole model's gradients, too") {
  LlmPlugins plugins;
  const auto rest = [](Backbone& model) { model.train(false); };
  check_training({plugins, kFamilies[0] + std::string(kSizes), rest}, tensor_mesh(2, true),
                 some_text(50));
}

namespace {

/// Ids that a model says after a prompt, one position at a time.
std::vector<int64_t> say(Backbone& model, const at::Tensor& prompt_1T, int64_t count) {
  const at::NoGradGuard no_grad;
  model.train(false);
  SequenceState state(model.shape().num_layers);
  SequenceInfo info;
  info.state = &state;
  std::vector<int64_t> said;
  at::Tensor next_1T = prompt_1T;
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor hidden = model(model.embed(next_1T), info);
    next_1T = model.logits(hidden.narrow(1, hidden.size(1) - 1, 1)).argmax(-1);
    said.push_back(next_1T.item<int64_t>());
  }
  return said;
}

}  // namespace

TEST_CASE("ranks say together, position by position, what the whole model says") {
  LlmPlugins plugins;
  for (const char* family : kFamilies) {
    for (const int64_t size : {2, 4}) {
      CAPTURE(std::string(family));
      CAPTURE(size);
      const Case test{plugins, family + std::string(kSizes)};
      const at::Tensor prompt_1T = some_text(50).ids_BT.narrow(0, 0, 1);
      const std::vector<int64_t> expected = say(*test.make(), prompt_1T, 8);
      auto models = models_of_ranks(test, size);
      std::vector<std::vector<int64_t>> said(models.size());
      const auto errors = run_thread_ranks(size, [&](Communicator& world) {
        const MeshShape shape = tensor_mesh(size, true);
        const MeshGroups mesh(world, shape);
        Backbone& model = *models[static_cast<size_t>(world.rank())];
        const SplitDoors hooks(model, test.plan(model, shape), mesh);
        said[static_cast<size_t>(world.rank())] = say(model, prompt_1T, 8);
      });
      CHECK(errors == std::vector<std::string>(models.size()));
      for (const auto& here : said) CHECK(here == expected);
    }
  }
}

namespace {

/// Bytes that a rank of a ring sends for collectives that `counts` names.
double sent_bytes(const CollectiveLog& log, const std::function<bool(const std::string&)>& counts) {
  double sent = 0;
  for (const CollectiveLog::Entry& entry : log.entries()) {
    if (!counts(entry.record.name)) continue;
    const bool twice = entry.record.kind == CollectiveKind::kAllReduce;
    sent += static_cast<double>(entry.record.num_bytes) * (twice ? 2 : 1);
  }
  return sent;
}

}  // namespace

TEST_CASE("ranks send the bytes that the plan predicts, activations and gradients") {
  LlmPlugins plugins;
  constexpr int64_t kPadded = 8;  // of 7 positions on 2 and on 4 ranks
  for (const char* family : kFamilies) {
    for (const auto& [size, split] : {std::pair{2, true}, {2, false}, {4, true}, {4, false}}) {
      CAPTURE(std::string(family));
      CAPTURE(size);
      const Case test{plugins, family + std::string(kSizes)};
      const Text text = some_text(50);
      const MeshShape shape = tensor_mesh(size, split);
      const auto whole = test.make();
      TrafficInputs inputs;
      inputs.settings.mesh = shape;
      inputs.positions = kRows * kLength;
      inputs.padded_positions = kRows * kPadded;
      inputs.is_trained = test.is_trained;
      const ShardPlan plan = test.plan(*whole, shape);
      const Traffic expected = expected_traffic(plan_model(*whole, plan, shape), plan, inputs);
      forward(*whole, text).loss.backward();
      const Gradients gradients = gradients_of(*whole);

      auto models = models_of_ranks(test, size);
      CollectiveLog activations, sums;
      const auto errors = run_thread_ranks(size, [&](Communicator& world) {
        if (world.rank() == 0) world.set_observer(&activations);
        const MeshGroups mesh(world, shape);
        Backbone& model = *models[static_cast<size_t>(world.rank())];
        const SplitDoors hooks(model, test.plan(model, shape), mesh);
        forward(model, text).loss.backward();
        mesh.tensor().set_observer(world.rank() == 0 ? &sums : nullptr);
        compare_gradients(model, hooks.split(), gradients);
      });
      CHECK(errors == std::vector<std::string>(models.size()));
      const auto all = [](const std::string&) { return true; };
      const auto of_doors = [](const std::string& name) {
        return !name.ends_with(".weight") && !name.ends_with(".bias");
      };
      const auto of_copies = [&](const std::string& name) { return !of_doors(name); };
      const double share = static_cast<double>(size - 1) / static_cast<double>(size);
      CHECK(std::llround(sent_bytes(activations, of_doors) * share) == expected.tensor_activations);
      // Copies of a key/value head are two ranks, which send half of an all-gather.
      CHECK(std::llround(sent_bytes(sums, all) * share +
                         sent_bytes(activations, of_copies) * 0.5) == expected.tensor_gradients);
    }
  }
}
