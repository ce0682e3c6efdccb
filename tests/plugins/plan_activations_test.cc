// What the plan says that a forward pass keeps is what it keeps.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/counting_allocator.h"
#include "plan/activations.h"
#include "plan/plan_report.h"
#include "plugins/llm_fixture.h"
#include "s2s/nn/losses.h"
#include "train/precision.h"

using namespace s2s;
using s2s::test::CountingAllocator;
using s2s::test::LlmPlugins;

namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kLength = 96;

std::string sizes(int64_t parts = 1) {
  const auto part = [parts](int64_t whole) { return std::to_string(whole / parts); };
  return R"(, "hidden_size": 96, "num_hidden_layers": 3, "head_dim": 24, "vocab_size": )" +
         part(400) + R"(, "intermediate_size": )" + part(256) + R"(, "num_attention_heads": )" +
         part(4) + R"(, "num_key_value_heads": )" + part(2) + "}";
}

/// Bytes that are there after the forward pass and the loss, and were not before.
int64_t measured_bytes(Backbone& model, at::ScalarType type, bool autocast = false) {
  model.materialize(at::kCPU, type, 1);
  model.set_requires_grad(true);
  const int64_t vocabulary = model.shape().vocab_size;
  const at::Tensor ids_BT = at::randint(vocabulary, {kRows, kLength}, at::kLong);
  const at::Tensor labels_NK = ids_BT.reshape({-1, 1});
  const auto loss = [&] {
    const Precision mixed = {type, at::kBFloat16}, plain = {type, std::nullopt};
    const AutocastScope scope(autocast ? mixed : plain, at::kCPU);
    const at::Tensor hidden_BTH = model(model.embed(ids_BT), SequenceInfo{});
    return linear_cross_entropy(hidden_BTH.flatten(0, 1), model.head(), labels_NK);
  };
  loss();  // rotary tables stay
  const int64_t before = CountingAllocator::instance().live_bytes();
  const at::Tensor kept = loss();
  return CountingAllocator::instance().live_bytes() - before;
}

/// `stream_bytes`: of a number between products, where it is another type's.
Activations expected(Backbone& model, int64_t bytes, const MeshShape& mesh = {},
                     int64_t stream_bytes = 0) {
  const ShardPlan plan = model.configure_model(mesh);
  const PlannedModel planned = plan_model(model, plan, mesh);
  const int64_t wide = stream_bytes > 0 ? stream_bytes : bytes;
  return expected_activations(
      model, planned, plan,
      {mesh, kLength, bytes, wide, wide, [](const std::string&) { return true; }});
}

/// How far the measured bytes are from the expected ones, as a share of these.
double error(int64_t measured, const Activations& activations) {
  return std::abs(static_cast<double>(measured) / activations.all.at(kRows, kLength) - 1);
}

constexpr double kTolerance = 0.005;

const char* const kFamilies[] = {
    R"({"name": "llama")",
    R"({"name": "llama", "tie_word_embeddings": true, "attention_bias": true)",
    R"({"name": "tinyllama")",
    R"({"name": "gemma", "model_type": "gemma")",
    R"({"name": "gemma", "model_type": "gemma2", "sliding_window": 8)",
    R"({"name": "gemma", "sliding_window": 8, "sliding_window_pattern": 2)",
    R"({"name": "qwen", "model_type": "qwen2")",
    R"({"name": "qwen", "model_type": "qwen3", "use_sliding_window": true, "sliding_window": 8,
        "max_window_layers": 1)"};

}  // namespace

TEST_CASE("the bytes that a forward pass of each family keeps are the plan's, within 0.5 %") {
  CountingAllocator::instance();
  LlmPlugins plugins;
  for (const char* family : kFamilies) {
    CAPTURE(std::string(family));
    const auto model = plugins.create(family + sizes());
    CHECK(error(measured_bytes(*model, at::kFloat), expected(*model, 4)) < kTolerance);
    CHECK(error(measured_bytes(*model, at::kBFloat16), expected(*model, 2)) < kTolerance);
  }
}

TEST_CASE("under bf16-mixed each product keeps its own rounded input, and a rounded weight") {
  CountingAllocator::instance();
  LlmPlugins plugins;
  const auto model = plugins.create(R"({"name": "llama")" + sizes());
  int64_t rounded = 0;  // counted with the parameters
  for (const NamedTensor& parameter : model->named_parameters()) {
    if (!parameter.name.ends_with("proj.weight")) continue;
    rounded += 2 * parameter.sizes[0] * parameter.sizes[1];
  }
  const int64_t measured = measured_bytes(*model, at::kFloat, /*autocast=*/true);
  CHECK(error(measured - rounded, expected(*model, 2, {}, 4)) < kTolerance);
}

TEST_CASE("what a tensor rank keeps is what a model with its share of heads and widths keeps") {
  CountingAllocator::instance();
  LlmPlugins plugins;
  for (const char* family : kFamilies) {
    CAPTURE(std::string(family));
    const auto whole = plugins.create(family + sizes());
    const auto half = plugins.create(family + sizes(2));
    MeshShape mesh;
    mesh.tensor = 2;
    mesh.sequence_parallel = false;
    const Activations on_two = expected(*whole, 4, mesh);
    CHECK(error(measured_bytes(*half, at::kFloat), on_two) < kTolerance);
    mesh.sequence_parallel = true;
    CHECK(expected(*whole, 4, mesh).all.per_position < on_two.all.per_position);
  }
}

TEST_CASE("with every block recomputed the inputs of blocks, one block and the loss are kept") {
  LlmPlugins plugins;
  const auto model = plugins.create(R"({"name": "llama")" + sizes());
  const Activations activations = expected(*model, 4);
  CHECK(activations.num_blocks == 3);
  // The last norm's input and statistic, the hidden state's gradient; the head's.
  CHECK(activations.recomputed.per_position == 3 * 96 * 4 + (96 * 4 + 4) + 96 * 4);
  CHECK(activations.recomputed.fixed == 400 * 96 * 4);
  // Inputs of norms and of what follows them; q, k, v, result and a statistic of each head; MLP.
  CHECK(activations.largest_block.per_position ==
        2 * (96 * 4 + 4) + 2 * 96 * 4 + 4 * (4 * 24 * 4 + 4) + 3 * 256 * 4);
  CHECK(activations.not_counted.empty());
}

TEST_CASE("frozen weights keep no input of their products, adapters do") {
  LlmPlugins plugins;
  const auto model = plugins.create(R"({"name": "llama")" + sizes());
  const ShardPlan plan = model->configure_model({});
  const PlannedModel planned = plan_model(*model, plan, {});
  const auto kept = [&](const std::function<bool(const std::string&)>& is_trained) {
    return expected_activations(*model, planned, plan, {{}, kLength, 4, 4, 4, is_trained})
        .all.per_position;
  };
  const double all = kept([](const std::string&) { return true; });
  const double none = kept([](const std::string& name) { return name == "norm.weight"; });
  CHECK(all - none == 3 * 4 * (2 * 96 + 256));  // inputs of q, k, v; of gate, up; of down
  const double adapters =
      kept([](const std::string& name) { return name.ends_with("q_proj.lora_A.weight"); });
  CHECK(adapters - none == 3 * 4 * 96);
}
