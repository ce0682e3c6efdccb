// Every layout against one process that accumulates as many batches as there are data ranks:
// losses, gradient norms and parameters over ten optimizer steps, fp32 (core/docs/parallelism.md
// shows the table). Ranks are threads here.

#include <doctest/doctest.h>

#include <map>

#include "parallel/equality_table.h"
#include "parallel/layout_run.h"
#include "parallel/thread_ranks.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kTolerance = 1e-5;
constexpr int64_t kVocabulary = 50;  // not divisible by 4
constexpr int64_t kPositions = 7;    // nor this by 2

TrainedModel family(const std::string& name, const std::string& keys) {
  TrainedModel trained;
  trained.name = name;
  const std::string json = "{" + keys + R"(, "hidden_size": 32, "num_hidden_layers": 2,
      "head_dim": 8, "vocab_size": 50, "intermediate_size": 48, "num_attention_heads": 4,
      "num_key_value_heads": 2})";
  trained.make = [json](const Registries& registries) {
    BuildContext context;
    context.path = "model.llm";
    auto model =
        std::make_unique<TokenModel>(registries.create<Backbone>(parse_json(json, "llm"), context));
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  return trained;
}

std::vector<TrainedModel> families() {
  return {
      family("llama", R"("name": "llama")"),
      family("llama, tied", R"("name": "llama", "tie_word_embeddings": true)"),
      family("tinyllama", R"("name": "tinyllama")"),
      family("gemma 1", R"("name": "gemma", "model_type": "gemma")"),
      family("gemma 2", R"("name": "gemma", "model_type": "gemma2", "sliding_window": 4)"),
      family("gemma 3", R"("name": "gemma", "sliding_window": 4, "sliding_window_pattern": 2)"),
      family("qwen 2", R"("name": "qwen", "model_type": "qwen2")"),
      family("qwen 3", R"("name": "qwen", "model_type": "qwen3")"),
  };
}

/// The base is frozen, adapters train.
TrainedModel with_lora(TrainedModel trained) {
  trained.name += ", LoRA";
  const auto make = trained.make;
  trained.make = [make](const Registries& registries) {
    auto model = make(registries);
    LoraOptions options;
    options.r = 4;
    options.target_modules = {"q_proj", "k_proj", "o_proj", "up_proj", "down_proj"};
    add_lora(*model, options);
    model->materialize(at::kCPU, at::kFloat, 3);
    for (const NamedTensor& parameter : model->named_parameters()) {
      const bool is_adapter = parameter.name.find("lora_") != std::string::npos;
      parameter.tensor->set_requires_grad(is_adapter);
      if (parameter.name.ends_with("lora_B.weight")) {
        const at::NoGradGuard no_grad;
        parameter.tensor->copy_(at::arange(parameter.tensor->numel()).view(parameter.sizes).sin() *
                                0.1);
      }
    }
    return model;
  };
  trained.change = [](SpeechModel& model, ShardPlan& plan) { add_lora_rows(model, plan); };
  return trained;
}

RunLayout layout(const std::string& name, const std::string& strategy, int64_t num_ranks,
                 int64_t data_ranks, int64_t accumulate = 1) {
  return {name, "{" + strategy + "}", num_ranks, data_ranks, accumulate};
}

std::vector<RunLayout> data_layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  return {
      layout("ddp 1", R"("name": "ddp")", 1, 1),
      layout("ddp 2", R"("name": "ddp", "bucket_cap_mb": 0.01)", 2, 2),
      layout("ddp 4", R"("name": "ddp")", 4, 4),
      layout("ddp 2, accumulating", R"("name": "ddp")", 2, 2, 3),
      layout("zero-1 2", fsdp + R"(, "zero_stage": 1)", 2, 2),
      layout("zero-2 2", fsdp + R"(, "zero_stage": 2)", 2, 2, 2),
      layout("fsdp 2", fsdp, 2, 2),
      layout("fsdp 4", fsdp, 4, 4),
      layout("fsdp 4, never reshard", fsdp + R"(, "reshard_after_forward": "never")", 4, 4),
      layout("fsdp 4, reshard by 2", fsdp + R"(, "reshard_after_forward": "2")", 4, 4),
      layout("fsdp 2, accumulating", fsdp, 2, 2, 3),
      layout("hybrid 2 x 2", fsdp + R"(, "replicate_size": 2)", 4, 4),
      layout("fsdp 2, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 2, 2, 2),
      layout("fsdp 2, norms and MLPs recomputed",
             fsdp + R"(, "activation_checkpointing": "norm_and_mlp")", 2, 2),
      layout("fsdp 2, offloaded", fsdp + R"(, "offload": "params")", 2, 2, 2),
  };
}

std::vector<RunLayout> tensor_layouts() {
  const std::string name = R"("name": "model_parallel")";
  const std::string whole = R"(, "sequence_parallel": false)";
  const auto tensor = [](int64_t size) {
    return R"(, "tensor_parallel_size": )" + std::to_string(size);
  };
  return {
      layout("tp 2", name + tensor(2) + whole, 2, 1),
      layout("tp 4", name + tensor(4) + whole, 4, 1),
      layout("tp 2, accumulating", name + tensor(2) + whole, 2, 1, 2),
      layout("tp + sp 2", name + tensor(2), 2, 1),
      layout("tp + sp 4", name + tensor(4), 4, 1),
      layout("tp + sp 2, recomputed", name + tensor(2) + R"(, "activation_checkpointing": "full")",
             2, 1),
      layout("fsdp 2 x tp 2", name + tensor(2), 4, 2),
      layout("fsdp 2 x tp 2, accumulating", name + tensor(2) + whole, 4, 2, 2),
      layout("fsdp 2 x tp 2, recomputed and offloaded",
             name + tensor(2) + R"(, "activation_checkpointing": "full", "offload": "params")", 4,
             2),
      layout("zero-1 2 x tp 2", name + tensor(2) + R"(, "zero_stage": 1)", 4, 2),
      layout("replicate 2 x shard 2 x tp 2", name + tensor(2) + R"(, "replicate_size": 2)", 8, 4),
  };
}

/// Loads what the runs need, on one thread.
void load(BuiltPlugins& plugins) {
  for (const char* name : {"ddp", "fsdp", "model_parallel", "single"}) {
    plugins.registries().get<ParallelStrategy>(name);
  }
  for (const char* name : {"llama", "tinyllama", "gemma", "qwen"}) {
    plugins.registries().get<Backbone>(name);
  }
  plugins.registries().get<Optimizer>("adamw");
}

/// One process's results, by the number of batches of a step.
class Reference {
 public:
  Reference(const Registries& registries, const TrainedModel& trained)
      : registries_(registries), trained_(trained) {}
  const LayoutResult& of(int64_t global_batches) {
    const auto [found, is_new] = results_.try_emplace(global_batches);
    if (is_new) {
      const RunLayout one{"single", R"({"name": "single"})", 1, 1, global_batches};
      run_layout(registries_, trained_, one, nullptr, found->second);
    }
    return found->second;
  }

 private:
  const Registries& registries_;
  const TrainedModel& trained_;
  std::map<int64_t, LayoutResult> results_;
};

double difference_of(const Registries& registries, const TrainedModel& trained,
                     const RunLayout& layout, Reference& reference) {
  LayoutResult result;
  std::vector<std::string> errors;
  if (layout.num_ranks == 1) {
    run_layout(registries, trained, layout, nullptr, result);
  } else {
    errors = run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
      run_layout(registries, trained, layout, &world, result);
    });
  }
  for (const std::string& error : errors) CHECK(error == "");
  return largest_difference(reference.of(layout.global_batches()), result);
}

void check_all(const std::vector<TrainedModel>& models, const std::vector<RunLayout>& layouts,
               const std::string& table_name) {
  BuiltPlugins plugins;
  load(plugins);
  EqualityTable table(table_name);
  for (TrainedModel trained : models) {
    trained.batches = token_batches(4 * 3 * kLayoutSteps, kVocabulary, 2, kPositions);
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : layouts) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      const double difference = difference_of(plugins.registries(), trained, layout, reference);
      CHECK(difference < kTolerance);
      table.add(layout.name, trained.name, difference);
    }
  }
}

}  // namespace

TEST_CASE("layouts of data ranks equal one process") {
  check_all(families(), data_layouts(), "data");
}

TEST_CASE("layouts with a tensor axis equal one process") {
  check_all(families(), tensor_layouts(), "tensor");
}

TEST_CASE("layouts equal one process with adapters on a frozen base") {
  const std::vector<TrainedModel> adapted = {with_lora(families()[0]), with_lora(families()[7])};
  check_all(adapted, data_layouts(), "data_lora");
  check_all(adapted, tensor_layouts(), "tensor_lora");
}
