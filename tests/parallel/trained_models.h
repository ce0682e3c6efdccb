#pragma once
// Language models of all families that layouts are tried on.

#include "parallel/layout_run.h"

namespace s2s::test {

constexpr int64_t kVocabulary = 50;  // not divisible by 4
constexpr int64_t kPositions = 7;    // nor this by 2

template <class Trained = TokenModel>
TrainedModel family(const std::string& name, const std::string& keys, int64_t num_layers = 2) {
  TrainedModel trained;
  trained.name = name;
  trained.batches = token_batches(4 * 3 * kLayoutSteps, kVocabulary, 2, kPositions);
  const std::string json =
      "{" + keys + R"(, "hidden_size": 32, "num_hidden_layers": )" + std::to_string(num_layers) +
      R"(, "head_dim": 8, "vocab_size": 50, "intermediate_size": 48, "num_attention_heads": 4,
      "num_key_value_heads": 2})";
  trained.make = [json](const Registries& registries) {
    BuildContext context;
    context.path = "model.llm";
    auto model =
        std::make_unique<Trained>(registries.create<Backbone>(parse_json(json, "llm"), context));
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  return trained;
}

inline TrainedModel tied_llama() {
  return family("llama, tied", R"("name": "llama", "tie_word_embeddings": true)");
}

inline std::vector<TrainedModel> families() {
  return {
      family("llama", R"("name": "llama")"),
      tied_llama(),
      family("tinyllama", R"("name": "tinyllama")"),
      family("gemma 1", R"("name": "gemma", "model_type": "gemma")"),
      family("gemma 2", R"("name": "gemma", "model_type": "gemma2", "sliding_window": 4)"),
      family("gemma 3", R"("name": "gemma", "sliding_window": 4, "sliding_window_pattern": 2)"),
      family("qwen 2", R"("name": "qwen", "model_type": "qwen2")"),
      family("qwen 3", R"("name": "qwen", "model_type": "qwen3")"),
  };
}

/// The base is frozen, adapters train.
inline TrainedModel with_lora(TrainedModel trained,
                              const std::vector<std::string>& targets = {
                                  "q_proj", "k_proj", "o_proj", "up_proj", "down_proj"}) {
  trained.name += ", LoRA";
  const auto make = trained.make;
  trained.make = [make, targets](const Registries& registries) {
    auto model = make(registries);
    LoraOptions options;
    options.r = 4;
    options.target_modules = targets;
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
  trained.change = [](Model& model, ShardPlan& plan) { add_lora_rows(model, plan); };
  return trained;
}

}  // namespace s2s::test
