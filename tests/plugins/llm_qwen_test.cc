// The plugin qwen, loaded through the host. Its numbers are compared with transformers' by
// `s2s-run compare` on tests/reference/data/hf_qwen_*.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "plugins/llm_fixture.h"

using namespace s2s::test;

TEST_CASE("every key of the reference files that changes the numbers is used") {
  LlmPlugins plugins;
  for (const Change& change :
       {Change{
            "hf_qwen_2_transformers4",
            {{"use_sliding_window", "true"}, {"sliding_window", "5"}, {"max_window_layers", "1"}}},
        {"hf_qwen_3_bias_window", {{"sliding_window", "7"}}},
        {"hf_qwen_3_bias_window", {{"max_window_layers", "2"}}},
        {"hf_qwen_3_bias_window", {{"attention_bias", "false"}}},
        {"hf_qwen_3_bias_window", {{"rope_theta", "900000.0"}}}}) {
    check_matters(plugins, change);
  }
}

TEST_CASE("what a config.json leaves out has the values of transformers' classes") {
  LlmPlugins plugins;
  const auto options = [&](const std::string& type, const std::string& keys) {
    return plugins.component("qwen").translate(
        s2s::parse_json(small_file(type, keys), "config.json"));
  };
  CHECK(options("qwen2", "").find("head_dim")->is_null());
  CHECK(options("qwen3", "").find("head_dim")->text() == "128");
  CHECK(options("qwen3", R"(, "head_dim": 6)").find("head_dim")->text() == "6");
  CHECK(options("qwen2", "").find("use_sliding_window")->text() == "false");
  CHECK(options("qwen2", R"(, "attention_bias": true)").find("attention_bias")->text() == "false");
}

TEST_CASE("keys of config.json that are not computed are refused by name") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& type, const std::string& keys) {
    return plugins.translate_error("qwen", small_file(type, keys));
  };
  CHECK(error("qwen2", R"(, "use_mrope": false, "sliding_window": 4096)").empty());
  CHECK(has(error("qwen2", R"(, "use_mrope": true)"), "use_mrope"));
  CHECK(has(error("qwen3_moe", ""), "expected 'qwen2', 'qwen3'"));
  CHECK(has(error("qwen3", R"(, "hidden_act": "gelu")"), "hidden_act"));
  CHECK(has(error("qwen2", R"(, "rope_scaling": {"type": "mrope", "factor": 1.0})"), "mrope"));
}

TEST_CASE("a local layer needs its window") {
  LlmPlugins plugins;
  CHECK(has(error_of([&] {
              plugins.create(R"({"name": "qwen", "num_hidden_layers": 2,
                                 "layer_types": ["full_attention", "sliding_attention"]})");
            }),
            "[llm/layer-types]"));
}

TEST_CASE("presets have the published numbers of parameters, and their plans are good") {
  LlmPlugins plugins;
  for (const PublishedModel& model : {PublishedModel{"qwen_2.5_0.5b", 494032768},
                                      {"qwen_2.5_1.5b", 1543714304},
                                      {"qwen_2.5_3b", 3085938688},
                                      {"qwen_2.5_7b", 7615616512},
                                      {"qwen_2.5_14b", 14770033664},
                                      {"qwen_2.5_32b", 32763876352},
                                      {"qwen_2.5_72b", 72706203648},
                                      {"qwen_3_0.6b", 596049920},
                                      {"qwen_3_8b", 8190735360},
                                      {"qwen_3_32b", 32762123264}}) {
    check_published(plugins, "qwen", model, 2, 3);
  }
}
