// The plugins llama and tinyllama, loaded through the host.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "plugins/llm_fixture.h"
#include "weights/safetensors.h"

using namespace s2s::test;
using s2s::Backbone;

namespace {

const char* kSmall = R"("vocab_size": 40, "hidden_size": 24, "intermediate_size": 36,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2)";

at::Tensor run(Backbone& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model(model.embed(at::arange(7).unsqueeze(0)), s2s::SequenceInfo()));
}

std::string translate_error(LlmPlugins& plugins, const std::string& name, const std::string& keys) {
  return plugins.translate_error(name,
                                 std::string("{\"model_type\": \"llama\", ") + kSmall + keys + "}");
}

}  // namespace

TEST_CASE("every reference file of transformers agrees, in every number and greedy token") {
  LlmPlugins plugins;
  int count = 0;
  for (const char* name : {"plain", "gqa_head_dim", "tied_pad_token", "bias", "rope_llama3",
                           "rope_llama3_transformers4", "tinyllama", "rope_linear", "rope_dynamic",
                           "rope_yarn", "rope_yarn_options"}) {
    const auto rows = plugins.compare(LlmPlugins::reference(std::string("hf_llama_") + name));
    CHECK(rows.size() >= 20);
    for (const auto& row : rows) {
      INFO(name, " ", row.name, " ", row.largest_absolute, " ", row.note);
      CHECK(row.pass);
      ++count;
    }
  }
  CHECK(count > 250);
}

TEST_CASE("bfloat16 is judged by the source's own rounding, tensor by tensor") {
  LlmPlugins plugins;
  auto reference = LlmPlugins::reference("hf_llama_gqa_head_dim");
  REQUIRE(reference.bfloat16.has_value());
  CHECK(reference.bfloat16->errors.size() == reference.grads.size() + 3);
  reference.bfloat16->draws = 2;  // what follows needs no exact figures
  for (auto& [name, error] : reference.bfloat16->errors) error *= 10;
  reference.bfloat16->errors.at("output/logits") /= 1000;
  reference.bfloat16->errors["output/nothing"] = 1;
  const auto rows = plugins.compare(reference, at::kBFloat16);
  REQUIRE(rows.size() == reference.grads.size() + 5);
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.note);
    const bool is_bad =
        row.name == "output/logits" || row.name == "output/nothing" || row.name == "all tensors";
    CHECK(row.pass == !is_bad);
    CHECK((row.root_mean_square > 0) == (row.name != "output/nothing"));
  }
}

TEST_CASE("a wrong weight makes the comparison fail") {
  LlmPlugins plugins;
  auto reference = LlmPlugins::reference("hf_llama_plain");
  reference.weights.at("model.norm.weight")[0] += 0.01;
  CHECK_FALSE(plugins.agrees(reference));
}

TEST_CASE("a Hugging Face folder gives sizes and weights") {
  LlmPlugins plugins;
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

TEST_CASE("a head that differs from the embedding to which config.json ties it is refused") {
  LlmPlugins plugins;
  const TemporaryFolder folder;
  const auto source = plugins.create(std::string("{\"name\": \"llama\", ") + kSmall + "}");
  source->materialize(at::kCPU, at::kFloat, 3);
  s2s::TensorMap weights = s2s::export_weights(*source, source->checkpoint_names());
  write_bytes(folder / "config.json", std::string("{\"model_type\": \"llama\", ") + kSmall +
                                          ", \"tie_word_embeddings\": true}");
  const auto load = [&] {
    s2s::write_safetensors(folder / "model.safetensors", weights, {{"format", "pt"}});
    const auto model =
        plugins.create("{\"name\": \"llama\", \"path\": \"" + folder.path().string() + "\"}");
    return error_of([&] { model->materialize(at::kCPU, at::kFloat, 4); });
  };
  const std::string error = load();
  CHECK(has(error, "[weights/config]"));
  CHECK(has(error,
            "'tie_word_embeddings' is true; expected false, because 'lm_head.weight' "
            "differs from 'model.embed_tokens.weight'"));
  weights["lm_head.weight"] = weights.at("model.embed_tokens.weight").clone();
  CHECK(load() == "");
}

TEST_CASE("keys of config.json that change the numbers and are not built are refused by name") {
  LlmPlugins plugins;
  CHECK(translate_error(plugins, "llama", "").empty());
  CHECK(translate_error(plugins, "llama",
                        R"(, "torch_dtype": "bfloat16", "rope_scaling": null, "mlp_bias": false,
                           "attention_dropout": 0.1, "head_dim": null, "use_cache": true)")
            .empty());
  for (const char* keys :
       {R"(, "hidden_act": "gelu")", R"(, "hidden_dropout": 0.1)", R"(, "new_feature": 3)",
        R"(, "quantization_config": {"bits": 4})", R"(, "sliding_window": 128)",
        R"(, "rope_scaling": {"rope_type": "longrope", "factor": 4.0})",
        R"(, "rope_scaling": {"rope_type": "yarn"})",
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
  CHECK(has(plugins.translate_error("llama", R"({"model_type": "mamba"})"),
            "'model_type' is 'mamba'"));
}

TEST_CASE("keys of generation and of training programs change nothing") {
  LlmPlugins plugins;
  for (const char* keys :
       {R"("unsloth_fixed": true, "unsloth_version": "2025.1.5", "model_max_length": 131072)",
        R"("is_llama_config": true, "rope_interleaved": false, "pretraining_tp": 1,
           "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}})",
        R"("max_sequence_length": 2048, "pad_token_id": -1)",
        R"("max_length": 4096, "min_length": 0, "do_sample": true, "temperature": 0.9,
           "top_p": 0.6, "top_k": 50, "num_beams": 1, "repetition_penalty": 1.1)",
        R"("tf_legacy_loss": false, "_flash_attn_2_enabled": true, "logits_to_keep": 1,
           "gradient_checkpointing": true, "license": "llama3", "pretraining_tp": 1)",
        R"("some_switch": false, "some_table": null)"}) {
    CAPTURE(keys);
    auto reference = LlmPlugins::reference("hf_llama_plain");
    const s2s::Config more = s2s::parse_json(std::string("{") + keys + "}", "config.json");
    for (const auto& [key, value] : more.entries()) reference.options[key] = value;
    CHECK(plugins.agrees(reference));
  }
  auto yarn = LlmPlugins::reference("hf_llama_rope_yarn");
  yarn.options["rope_parameters"]["finetuned"] = s2s::Config::scalar("true");
  CHECK(plugins.agrees(yarn));
}

TEST_CASE("unknown keys of a folder are reported once, by name, unless they look like arithmetic") {
  LlmPlugins plugins;
  const TemporaryFolder folder;
  const auto said_of = [&](const std::string& keys) {
    write_bytes(folder / "config.json",
                "{\"model_type\": \"llama\", " + std::string(kSmall) + keys + "}");
    std::vector<std::string> said;
    plugins.create("{\"name\": \"llama\", \"path\": \"" + folder.path().string() + "\"}", ".",
                   &said);
    return said;
  };
  CHECK(said_of("").empty());
  CHECK(said_of(R"(, "unsloth_fixed": true, "temperature": 0.9, "pad_token_id": -1)").empty());
  const auto said = said_of(R"(, "my_note": 3, "team": "blue")");
  REQUIRE(said.size() == 1);
  CHECK(has(said[0], "my_note, team of '"));
  CHECK(has(said[0], "have no meaning for s2s"));
  for (const char* key : {"attn_logit_softcapping", "logits_scaling", "residual_multiplier",
                          "num_local_experts", "use_qk_norm", "mup_base_width", "new_rope_kind"}) {
    CAPTURE(key);
    CHECK(has(error_of([&] { said_of(std::string(", \"") + key + "\": 3"); }), key));
  }
}

TEST_CASE("options that do not fit each other are refused") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& keys) {
    return error_of([&] { plugins.create("{\"name\": \"llama\", " + keys + "}"); });
  };
  CHECK(has(error(R"("hidden_size": 30, "num_attention_heads": 4)"), "[llm/sizes]"));
  CHECK(has(error(R"("num_attention_heads": 4, "num_key_value_heads": 3)"), "[llm/sizes]"));
  CHECK(has(error(R"("head_dim": 7)"), "[llm/sizes]"));
  CHECK(has(error(R"("pad_token_id": 32000)"), "[llm/pad-token]"));
  CHECK(has(error(R"("rope_scaling": {"rope_type": "longrope"})"), "[llm/rope-type]"));
  CHECK(has(error(R"("hiden_size": 3)"), "[config/unknown-key]"));
  CHECK(has(error(R"("path": "nowhere")"), "[weights/unreadable]"));
}

TEST_CASE("sizes that no model has are refused before anything is counted with them") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& keys) {
    return error_of([&] { plugins.create("{\"name\": \"llama\", " + keys + "}"); });
  };
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "num_key_value_heads", "head_dim"}) {
    for (const char* value : {"9223372036854775807", "4000000000", "0", "-8"}) {
      const std::string message = error('"' + std::string(key) + "\": " + value);
      CHECK_MESSAGE(has(message, "[config/bounds] model.llm." + std::string(key)), message);
    }
    const std::string message = error('"' + std::string(key) + "\": 18446744073709551616");
    CHECK_MESSAGE(has(message, "[config/type] model.llm." + std::string(key)), message);
  }
}

TEST_CASE("presets give published sizes, keys win over them, and both plans are good") {
  LlmPlugins plugins;
  const auto tiny = plugins.create(R"({"name": "tinyllama"})");
  CHECK(tiny->shape().num_layers == 22);
  CHECK(count_elements(*tiny) == 1100048384);
  const auto big =
      plugins.create(R"({"name": "llama", "preset": "llama_3.1_8b", "num_hidden_layers": 3})");
  CHECK(big->shape().num_layers == 3);
  CHECK(big->shape().intermediate_size == 14336);
  for (Backbone* model : {tiny.get(), big.get()}) {
    for (const int64_t tensor : {1, 2, 4, 16}) CHECK(plan_holds(*model, tensor));
    CHECK_FALSE(plan_holds(*model, 64));
  }
}

TEST_CASE("presets of llama have the published numbers of parameters") {
  LlmPlugins plugins;
  for (const PublishedModel& model : {PublishedModel{"llama_2_7b", 6738415616},
                                      {"llama_2_13b", 13015864320},
                                      {"llama_2_70b", 68976648192},
                                      {"llama_3_8b", 8030261248},
                                      {"llama_3_70b", 70553706496},
                                      {"llama_3.1_8b", 8030261248},
                                      {"llama_3.1_70b", 70553706496},
                                      {"llama_3.2_1b", 1235814400},
                                      {"llama_3.2_3b", 3212749824}}) {
    check_published(plugins, "llama", model, 2, 3);
  }
}

TEST_CASE("the original length of scaled rotary frequencies is the weights' unless the file says") {
  LlmPlugins plugins;
  const auto rope = [&](const std::string& keys) {
    const auto options = plugins.component("llama").translate(s2s::parse_json(
        std::string("{\"model_type\": \"llama\", \"max_position_embeddings\": 77, ") + kSmall +
            R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0)" + keys + "}}",
        "config.json"));
    return options.find_path("rope_scaling.original_max_position_embeddings")->text();
  };
  CHECK(rope("") == "77");
  CHECK(rope(R"(, "original_max_position_embeddings": 11)") == "11");
}
