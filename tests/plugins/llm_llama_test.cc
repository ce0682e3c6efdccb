// The plugins llama and tinyllama, loaded through the host.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "eval/compare.h"
#include "parallel/plan_check.h"
#include "plugin/plugin_host.h"
#include "s2s/registry.h"
#include "s2s/weights.h"
#include "weights/safetensors.h"

using namespace s2s::test;
using s2s::Backbone;
using s2s::Config;

namespace {

class Plugins {
 public:
  Plugins() : host_(inputs()) { host_.install(registries); }
  s2s::Registries registries;

  std::unique_ptr<Backbone> create(const std::string& json, const std::string& base_dir = ".") {
    s2s::BuildContext context;
    context.path = "model.llm";
    context.base_dir = base_dir;
    return registries.create<Backbone>(s2s::parse_json(json, "test"), context);
  }

 private:
  static s2s::SearchInputs inputs() {
    s2s::SearchInputs search;
    search.command_line = {S2S_BINARY_DIR "/lib/s2s/plugins"};
    return search;
  }
  s2s::PluginHost host_;
};

const char* kSmall = R"("vocab_size": 40, "hidden_size": 24, "intermediate_size": 36,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2)";

at::Tensor run(Backbone& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model(model.embed(at::arange(7).unsqueeze(0)), s2s::SequenceInfo()));
}

std::string translate_error(Plugins& plugins, const std::string& name, const std::string& keys) {
  const std::string json = std::string("{\"model_type\": \"llama\", ") + kSmall + keys + "}";
  const auto& component = plugins.registries.get<Backbone>(name);
  return error_of([&] { component.translate(s2s::parse_json(json, "config.json")); });
}

}  // namespace

TEST_CASE("every reference file of transformers agrees, in every number and greedy token") {
  Plugins plugins;
  int count = 0;
  for (const char* name : {"plain", "gqa_head_dim", "tied_pad_token", "bias", "rope_llama3",
                           "rope_llama3_transformers4", "tinyllama"}) {
    const auto reference = s2s::read_reference(
        std::string(S2S_SOURCE_DIR) + "/tests/reference/data/hf_llama_" + name + ".safetensors");
    const auto rows = s2s::compare_reference({reference, {}, plugins.registries});
    CHECK(rows.size() >= 20);
    for (const auto& row : rows) {
      INFO(name, " ", row.name, " ", row.largest_absolute, " ", row.note);
      CHECK(row.pass);
      ++count;
    }
  }
  CHECK(count > 150);
}

TEST_CASE("a wrong weight makes the comparison fail") {
  Plugins plugins;
  auto reference =
      s2s::read_reference(S2S_SOURCE_DIR "/tests/reference/data/hf_llama_plain.safetensors");
  reference.weights.at("model.norm.weight")[0] += 0.01;
  const auto rows = s2s::compare_reference({reference, {}, plugins.registries});
  CHECK(std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.pass; }));
}

TEST_CASE("a Hugging Face folder gives sizes and weights") {
  Plugins plugins;
  const TemporaryFolder folder;
  const auto source = plugins.create(std::string("{\"name\": \"llama\", ") + kSmall + "}");
  source->materialize(at::kCPU, at::kFloat, 3);
  const s2s::TensorMap weights = s2s::export_weights(*source, source->checkpoint_names());
  write_bytes(
      folder / "config.json",
      std::string("{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], ") +
          kSmall + "}");
  s2s::write_safetensors(folder / "model.safetensors", weights, {{"format", "pt"}});
  const std::string base = std::filesystem::path(folder.path()).parent_path().string();
  const std::string name = std::filesystem::path(folder.path()).filename().string();
  for (const char* plugin : {"llama", "tinyllama"}) {
    const auto model = plugins.create("{\"name\": \"" + std::string(plugin) +
                                          "\", \"rms_norm_eps\": 1e-6, \"path\": \"" + name + "\"}",
                                      base);
    CHECK(model->shape().hidden_size == 24);
    model->materialize(at::kCPU, at::kFloat, 4);
    CHECK(at::equal(run(*model), run(*source)));
  }
  s2s::TensorMap damaged = weights;
  damaged.erase("model.norm.weight");
  s2s::write_safetensors(folder / "model.safetensors", damaged);
  const auto model = plugins.create("{\"name\": \"llama\", \"path\": \"" + name + "\"}", base);
  CHECK(has(error_of([&] { model->materialize(at::kCPU, at::kFloat, 4); }),
            "'model.norm.weight' is missing"));
}

TEST_CASE("keys of config.json that change the numbers and are not built are refused by name") {
  Plugins plugins;
  CHECK(translate_error(plugins, "llama", "").empty());
  CHECK(translate_error(plugins, "llama",
                        R"(, "torch_dtype": "bfloat16", "rope_scaling": null, "mlp_bias": false,
                           "attention_dropout": 0.0, "head_dim": null, "use_cache": true)")
            .empty());
  for (const char* keys :
       {R"(, "hidden_act": "gelu")", R"(, "attention_dropout": 0.1)", R"(, "new_feature": 3)",
        R"(, "quantization_config": {"bits": 4})", R"(, "sliding_window": 128)",
        R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0})",
        R"(, "rope_parameters": {"full_attention": {"rope_type": "default"}})",
        R"(, "partial_rotary_factor": 0.5)"}) {
    INFO(keys);
    CHECK(has(translate_error(plugins, "llama", keys), "[weights/config]"));
  }
  const std::string both =
      translate_error(plugins, "llama", R"(, "hidden_act": "gelu", "new_feature": 3)");
  CHECK(has(both, "2 findings"));
  CHECK(has(translate_error(plugins, "tinyllama",
                            R"(, "rope_parameters": {"rope_type": "llama3", "factor": 8.0})"),
            "expected 'default', 'linear'"));
  const auto& llama = plugins.registries.get<Backbone>("llama");
  CHECK(has(error_of([&] {
              llama.translate(s2s::parse_json(R"({"model_type": "mamba"})", "config.json"));
            }),
            "'model_type' is 'mamba'"));
}

TEST_CASE("options that do not fit each other are refused") {
  Plugins plugins;
  const auto error = [&](const std::string& keys) {
    return error_of([&] { plugins.create("{\"name\": \"llama\", " + keys + "}"); });
  };
  CHECK(has(error(R"("hidden_size": 30, "num_attention_heads": 4)"), "[llm/sizes]"));
  CHECK(has(error(R"("num_attention_heads": 4, "num_key_value_heads": 3)"), "[llm/sizes]"));
  CHECK(has(error(R"("head_dim": 7)"), "[llm/sizes]"));
  CHECK(has(error(R"("pad_token_id": 32000)"), "[llm/pad-token]"));
  CHECK(has(error(R"("rope_scaling": {"rope_type": "dynamic"})"), "[llm/rope-type]"));
  CHECK(has(error(R"("hiden_size": 3)"), "[config/unknown-key]"));
  CHECK(has(error(R"("path": "nowhere")"), "[weights/unreadable]"));
}

TEST_CASE("presets give published sizes, keys win over them, and both plans are good") {
  Plugins plugins;
  const auto tiny = plugins.create(R"({"name": "tinyllama"})");
  CHECK(tiny->shape().num_layers == 22);
  int64_t count = 0;
  for (const auto& parameter : tiny->named_parameters()) {
    int64_t numbers = 1;
    for (const int64_t size : parameter.sizes) numbers *= size;
    count += numbers;
  }
  CHECK(count == 1100048384);
  const auto big =
      plugins.create(R"({"name": "llama", "preset": "llama_3.1_8b", "num_hidden_layers": 3})");
  CHECK(big->shape().num_layers == 3);
  CHECK(big->shape().intermediate_size == 14336);
  for (Backbone* model : {tiny.get(), big.get()}) {
    s2s::PlanCheckInputs inputs;
    for (const int64_t tensor : {1, 2, 4}) {
      inputs.mesh.tensor = tensor;
      CHECK(s2s::check_plan(*model, model->configure_model(inputs.mesh), inputs).empty());
    }
    inputs.mesh.tensor = 16;
    CHECK_FALSE(s2s::check_plan(*model, model->configure_model(inputs.mesh), inputs).empty());
  }
}
