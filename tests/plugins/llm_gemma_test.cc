// The plugin gemma, loaded through the host. Its numbers are compared with transformers' by
// `s2s-run compare` on tests/reference/data/hf_gemma_*.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "plugins/llm_fixture.h"
#include "weights/safetensors.h"

using namespace s2s::test;

namespace {

/// One layer of each kind, so that no default is needed.
std::string file_of(const std::string& model_type, const std::string& keys) {
  return small_file(model_type, R"(, "head_dim": 8)" + keys);
}

/// A config.json of a model with images.
std::string image_file(const std::string& text_keys, const std::string& keys = "") {
  return R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
             "vision_config": {"hidden_size": 8}, "mm_tokens_per_image": 256, "text_config": )" +
         file_of("gemma3_text", text_keys) + keys + "}";
}

std::string translated(LlmPlugins& plugins, const std::string& json, const char* option) {
  const auto options = plugins.component("gemma").translate(s2s::parse_json(json, "config.json"));
  const s2s::Config* found = options.find(option);
  return found == nullptr ? "nothing" : found->is_null() ? "null" : found->text();
}

/// Writes a reference file's configuration and weights as a Hugging Face folder.
void write_folder(const TemporaryFolder& folder, const std::string& reference,
                  const s2s::TensorMap& more = {}) {
  const s2s::ReferenceFile file = LlmPlugins::reference(reference);
  s2s::TensorMap weights = file.weights;
  weights.insert(more.begin(), more.end());
  s2s::write_safetensors(folder / "model.safetensors", weights, {{"format", "pt"}});
  write_bytes(folder / "config.json",
              s2s::SafetensorsFile::open(file.path).metadata().at("options"));
}

}  // namespace

TEST_CASE("every key of the reference files that changes the numbers is used") {
  LlmPlugins plugins;
  for (const Change& change : {Change{"hf_gemma_1", {{"head_dim", "6"}}},
                               {"hf_gemma_1", {{"pad_token_id", "3"}}},
                               {"hf_gemma_2", {{"sliding_window", "7"}}},
                               {"hf_gemma_2", {{"query_pre_attn_scalar", "11"}}},
                               {"hf_gemma_2", {{"attn_logit_softcapping", "1.6"}}},
                               {"hf_gemma_2", {{"final_logit_softcapping", "2.1"}}},
                               {"hf_gemma_3_transformers4", {{"sliding_window", "6"}}},
                               {"hf_gemma_3_transformers4", {{"sliding_window_pattern", "4"}}},
                               {"hf_gemma_3_transformers4", {{"rope_local_base_freq", "301"}}},
                               {"hf_gemma_3_transformers4", {{"rope_theta", "49000"}}}}) {
    check_matters(plugins, change);
  }
}

TEST_CASE("what a config.json leaves out has the values of transformers' classes") {
  LlmPlugins plugins;
  const auto value = [&](const std::string& type, const std::string& keys, const char* option) {
    return translated(plugins, file_of(type, keys), option);
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
  CHECK(has(error("gemma4", ""), "expected 'gemma', 'gemma2', 'gemma3_text', 'gemma3'"));
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

TEST_CASE("the text model of a model with images is read") {
  LlmPlugins plugins;
  CHECK(translated(plugins, image_file(""), "model_type") == "gemma3_text");
  CHECK(translated(plugins, image_file(""), "hidden_size") == "24");
  CHECK(translated(plugins, image_file(""), "tie_word_embeddings") == "true");
  const std::string untied = R"(, "tie_word_embeddings": false)";
  CHECK(translated(plugins, image_file(untied), "tie_word_embeddings") == "false");
  CHECK(translated(plugins, image_file("", untied), "tie_word_embeddings") == "false");
  // As google/gemma-3-4b-it says it: the rest is what the class has by default.
  const std::string published = R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560,
    "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}})";
  const auto of_published = [&](const char* option) {
    return translated(plugins, published, option);
  };
  CHECK(of_published("vocab_size") == "262208");
  CHECK(of_published("num_attention_heads") == "8");
  CHECK(of_published("num_key_value_heads") == "4");
  CHECK(of_published("head_dim") == "256");
  CHECK(of_published("query_pre_attn_scalar") == "256");
  CHECK(of_published("rope_theta") == "1000000.0");
  CHECK(of_published("max_position_embeddings") == "131072");
}

TEST_CASE("what is wrong with the file of a model with images is named with its block") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& text_keys, const std::string& keys) {
    return plugins.translate_error("gemma", image_file(text_keys, keys));
  };
  CHECK(error("", "").empty());
  CHECK(has(error(R"(, "hidden_activation": "relu")", ""), "'text_config.hidden_activation'"));
  CHECK(has(error("", R"(, "quantization_config": {"bits": 4})"), "'quantization_config'"));
  CHECK(has(error("", R"(, "audio_config": {})"), "'audio_config'"));
  CHECK(has(error(R"(, "tie_word_embeddings": false)", R"(, "tie_word_embeddings": true)"),
            "'tie_word_embeddings'"));
  CHECK(has(plugins.translate_error("gemma", R"({"model_type": "gemma3"})"), "'text_config'"));
  CHECK(has(plugins.translate_error("gemma", R"({"model_type": "gemma3", "text_config": 3})"),
            "'text_config' is 3"));
}

TEST_CASE("a folder with images gives its language model, says so, and keeps other tensors out") {
  LlmPlugins plugins;
  for (const char* reference : {"hf_gemma_3_with_images", "hf_gemma_3_with_images_transformers4"}) {
    CAPTURE(std::string(reference));
    const TemporaryFolder folder;
    write_folder(folder, reference);
    std::vector<std::string> said;
    const auto model = plugins.create(R"({"name": "gemma", "path": ".", "rms_norm_eps": 0.001})",
                                      folder.path(), &said);
    REQUIRE(said.size() == 2);
    CHECK(has(said[1], "model.llm.rms_norm_eps: 0.001 ("));  // written: it wins
    CHECK(has(said[0], "model.llm.path"));
    CHECK(has(said[0], "'gemma3' model; its language model (text_config) is used"));
    CHECK(has(said[0], "vision_config"));
    model->materialize(at::kCPU, at::kFloat, 1);
    const s2s::ReferenceFile file = LlmPlugins::reference(reference);
    bool found = false;
    for (const auto& [name, tensor] : file.weights) {
      if (!has(name, "layers.1.mlp.up_proj.weight") || has(name, "vision")) continue;
      found = at::equal(*find_parameter(*model, "layers.1.mlp.up_proj.weight"), tensor);
    }
    CHECK(found);

    write_folder(folder, reference, {{"model.extra.weight", at::ones({2})}});
    const auto other = plugins.create(R"({"name": "gemma", "path": "."})", folder.path());
    CHECK(has(error_of([&] { other->materialize(at::kCPU, at::kFloat, 1); }),
              "'model.extra.weight' is not expected"));
  }
}

TEST_CASE("presets have the published numbers of parameters, and their plans are good") {
  LlmPlugins plugins;
  struct Case {
    PublishedModel model;
    int64_t heads;  // key/value heads, where they are fewer, are repeated
  };
  for (const Case& c : {Case{{"gemma_2b", 2506172416}, 8},
                        {{"gemma_7b", 8537680896}, 16},
                        {{"gemma_2_2b", 2614341888}, 8},
                        {{"gemma_2_9b", 9241705984}, 16},
                        {{"gemma_2_27b", 27227128320}, 32},
                        {{"gemma_3_1b", 999885952}, 4},
                        {{"gemma_3_4b", 3880263168}, 8}}) {
    check_published(plugins, "gemma", c.model, c.heads, 3);
  }
}
