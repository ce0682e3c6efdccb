// The plugin gemma, loaded through the host. Its numbers are compared with transformers' by
// `s2s-run compare` on tests/reference/data/hf_gemma_*.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "plugins/llm_fixture.h"

using namespace s2s::test;

namespace {

std::string file_of(const std::string& model_type, const std::string& keys) {
  return "{\"model_type\": \"" + model_type + R"(", "vocab_size": 40, "hidden_size": 24,
    "intermediate_size": 36, "num_hidden_layers": 4, "num_attention_heads": 4, "head_dim": 8,
    "num_key_value_heads": 2)" +
         keys + "}";
}

}  // namespace

TEST_CASE("every key of the reference files that changes the numbers is used") {
  LlmPlugins plugins;
  struct Change {
    const char* file;
    const char* key;
    const char* value;
  };
  for (const Change& change : {Change{"hf_gemma_1", "head_dim", "6"},
                               {"hf_gemma_1", "pad_token_id", "3"},
                               {"hf_gemma_2", "sliding_window", "7"},
                               {"hf_gemma_2", "query_pre_attn_scalar", "11"},
                               {"hf_gemma_2", "attn_logit_softcapping", "1.6"},
                               {"hf_gemma_2", "final_logit_softcapping", "2.1"},
                               {"hf_gemma_3_transformers4", "sliding_window", "6"},
                               {"hf_gemma_3_transformers4", "sliding_window_pattern", "4"},
                               {"hf_gemma_3_transformers4", "rope_local_base_freq", "301"},
                               {"hf_gemma_3_transformers4", "rope_theta", "49000"}}) {
    CAPTURE(std::string(change.file));
    CAPTURE(std::string(change.key));
    auto reference = LlmPlugins::reference(change.file);
    CHECK(plugins.agrees(reference));
    REQUIRE(reference.options.find(change.key) != nullptr);
    reference.options[change.key] = s2s::Config::scalar(change.value);
    CHECK_FALSE(plugins.agrees(reference));
  }
}

TEST_CASE("what a config.json leaves out has the values of transformers' classes") {
  LlmPlugins plugins;
  const auto value = [&](const std::string& type, const std::string& keys, const char* option) {
    const auto options =
        plugins.component("gemma").translate(s2s::parse_json(file_of(type, keys), "config.json"));
    const s2s::Config* found = options.find(option);
    return found == nullptr ? "nothing" : found->is_null() ? "null" : found->text();
  };
  CHECK(value("gemma", "", "pad_token_id") == "0");
  CHECK(value("gemma", R"(, "pad_token_id": null)", "pad_token_id") == "null");
  CHECK(value("gemma", "", "tie_word_embeddings") == "true");
  CHECK(value("gemma", "", "attn_logit_softcapping") == "nothing");
  CHECK(value("gemma2", "", "attn_logit_softcapping") == "50.0");
  CHECK(value("gemma2", R"(, "attn_logit_softcapping": null)", "attn_logit_softcapping") == "null");
  CHECK(value("gemma2", "", "sliding_window_pattern") == "2");
  CHECK(value("gemma3_text", "", "sliding_window_pattern") == "6");
  CHECK(value("gemma3_text", "", "rope_theta") == "1000000.0");
  CHECK(value("gemma3_text", "", "rope_local_base_freq") == "10000.0");
}

TEST_CASE("keys of config.json that are not computed are refused by name") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& type, const std::string& keys) {
    return plugins.translate_error("gemma", file_of(type, keys));
  };
  CHECK(error("gemma", R"(, "hidden_act": "gelu", "hidden_activation": null)").empty());
  CHECK(has(error("gemma3", ""), "expected 'gemma', 'gemma2', 'gemma3_text'"));
  CHECK(has(error("gemma", R"(, "hidden_activation": "gelu")"), "hidden_activation"));
  CHECK(has(error("gemma", R"(, "attn_logit_softcapping": 50.0)"), "attn_logit_softcapping"));
  CHECK(has(error("gemma2", R"(, "use_bidirectional_attention": true)"), "bidirectional"));
  CHECK(has(error("gemma3_text", R"(, "attn_logit_softcapping": 50.0)"), "expected null"));
  CHECK(has(error("gemma3_text", R"(, "rope_parameters": {"rope_theta": 10000.0})"),
            "rope_parameters.rope_theta"));
  CHECK(has(error("gemma3_text", R"(, "rope_parameters": {"sliding_attention":
                                       {"rope_type": "linear", "factor": 2.0}})"),
            "rope_parameters.sliding_attention.rope_type"));
  CHECK(has(error("gemma2", R"(, "rope_parameters": {"full_attention": {}})"),
            "rope_parameters.full_attention"));
}

TEST_CASE("windows that do not fit the layers are refused") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& keys) {
    return error_of([&] { plugins.create("{\"name\": \"gemma\", " + keys + "}"); });
  };
  CHECK(has(error(R"("layer_types": ["full_attention"])"), "[llm/layer-types]"));
  CHECK(has(error(R"("sliding_window": null)"), "[llm/layer-types]"));
  CHECK(has(error(R"("num_hidden_layers": 1, "layer_types": ["global"])"), "layer_types"));
  CHECK(has(error(R"("hidden_act": "silu")"), "gelu_pytorch_tanh"));
  CHECK(error(R"("sliding_window": null, "sliding_window_pattern": null)").empty());
}

TEST_CASE("presets have the published numbers of parameters, and their plans are good") {
  LlmPlugins plugins;
  const std::vector<std::pair<const char*, int64_t>> published = {
      {"gemma_2b", 2506172416},   {"gemma_7b", 8537680896},     {"gemma_2_2b", 2614341888},
      {"gemma_2_9b", 9241705984}, {"gemma_2_27b", 27227128320}, {"gemma_3_1b", 999885952}};
  for (const auto& [preset, numbers] : published) {
    CAPTURE(std::string(preset));
    const auto model =
        plugins.create("{\"name\": \"gemma\", \"preset\": \"" + std::string(preset) + "\"}");
    CHECK(count_numbers(*model) == numbers);
    CHECK(plan_holds(*model, 1));
    CHECK(plan_holds(*model, model->shape().num_key_value_heads));
    CHECK_FALSE(plan_holds(*model, 2 * model->shape().num_key_value_heads));
  }
}
