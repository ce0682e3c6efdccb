// The plugins mistral and phi3, loaded through the host.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "plugins/llm_fixture.h"
#include "weights/safetensors.h"

using namespace s2s::test;

TEST_CASE("Mistral and Phi-3 agree with transformers in every number and greedy token") {
  LlmPlugins plugins;
  for (const char* name :
       {"hf_mistral_1_window", "hf_mistral_3", "hf_phi3_window", "hf_phi3_transformers4",
        "hf_phi3_longrope_short", "hf_phi3_longrope_long", "hf_phi3_longrope_factor"}) {
    const auto rows = plugins.compare(LlmPlugins::reference(name));
    CHECK(rows.size() >= 20);
    for (const auto& row : rows) {
      INFO(name, " ", row.name, " ", row.largest_absolute, " ", row.note);
      CHECK(row.pass);
    }
  }
  check_matters(plugins, {"hf_mistral_1_window", {{"sliding_window", "6"}}});
  check_matters(plugins, {"hf_phi3_window", {{"sliding_window", "6"}}});
}

TEST_CASE("Phi-3's joined tensors are split on reading and joined on export") {
  LlmPlugins plugins;
  const auto reference = LlmPlugins::reference("hf_phi3_window");
  REQUIRE(reference.weights.count("model.layers.0.self_attn.qkv_proj.weight") == 1);
  const TemporaryFolder folder;
  write_bytes(folder / "config.json", small_file("phi3", R"(, "pad_token_id": null)"));
  const auto made = plugins.create(R"({"name": "phi3", "vocab_size": 40, "hidden_size": 24,
      "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2})");
  made->materialize(at::kCPU, at::kFloat, 3);
  const s2s::TensorMap files = s2s::export_weights(*made, made->checkpoint_names());
  CHECK(files.at("model.layers.1.self_attn.qkv_proj.weight").size(0) == 48);
  CHECK(files.at("model.layers.1.mlp.gate_up_proj.weight").size(0) == 72);
  CHECK(files.count("model.layers.1.self_attn.q_proj.weight") == 0);
  s2s::write_safetensors(folder / "model.safetensors", files, {{"format", "pt"}});
  const auto read =
      plugins.create("{\"name\": \"phi3\", \"path\": \"" + folder.path().string() + "\"}");
  read->materialize(at::kCPU, at::kFloat, 4);
  const s2s::TensorMap again = s2s::export_weights(*read, read->checkpoint_names());
  CHECK(again.size() == files.size());
  for (const auto& [name, tensor] : files) CHECK(at::equal(again.at(name), tensor));
  s2s::TensorMap damaged = files;
  damaged["model.layers.0.self_attn.qkv_proj.weight"] = at::ones({47, 24});
  s2s::write_safetensors(folder / "model.safetensors", damaged);
  const auto refused =
      plugins.create("{\"name\": \"phi3\", \"path\": \"" + folder.path().string() + "\"}");
  CHECK(has(error_of([&] { refused->materialize(at::kCPU, at::kFloat, 4); }),
            "'model.layers.0.self_attn.qkv_proj.weight' has shape"));
}

TEST_CASE("keys of Mistral and Phi-3 that are not computed are refused by name") {
  LlmPlugins plugins;
  const auto error = [&](const std::string& name, const std::string& keys) {
    return plugins.translate_error(name, small_file(name, keys));
  };
  CHECK(error("mistral", R"(, "sliding_window": null)").empty());
  CHECK(error("phi3", R"(, "resid_pdrop": 0.0, "rope_scaling": null)").empty());
  CHECK(has(error("phi3", R"(, "partial_rotary_factor": 0.75)"), "partial_rotary_factor"));
  const auto rope = [](const std::string& type, const std::string& more) {
    return R"(, "rope_scaling": {"type": ")" + type + R"(", "short_factor": [1, 1.5, 2])" + more +
           "}";
  };
  for (const char* type : {"longrope", "su", "yarn"}) {
    CHECK(error("phi3", rope(type, R"(, "long_factor": [2.0, 3, 4])")).empty());
    CHECK(has(error("phi3", rope(type, "")), "'rope_scaling.long_factor' is missing"));
    CHECK(has(error("phi3", rope(type, R"(, "long_factor": 2)")), "expected a list of numbers"));
    CHECK(has(error("phi3", rope(type, R"(, "long_factor": [2, 3, 4], "long_mscale": 1.2)")),
              "long_mscale"));
  }
  CHECK(has(error("phi3", rope("linear", R"(, "long_factor": [2, 3, 4])")), "'linear'"));
  CHECK(has(error("mistral", rope("longrope", R"(, "long_factor": [2, 3, 4])")), "longrope"));
  CHECK(has(error("mistral", R"(, "hidden_act": "gelu")"), "hidden_act"));
}

TEST_CASE("longrope: lists of another length are refused, also in options") {
  LlmPlugins plugins;
  const std::string message = error_of([&] {
    plugins.create(R"({"name": "phi3", "vocab_size": 40, "hidden_size": 24,
        "intermediate_size": 36, "num_hidden_layers": 1, "num_attention_heads": 4, "rope_scaling":
        {"rope_type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 1]}})");
  });
  CHECK(has(message, "[llm/rope-factors]"));
  CHECK(has(message, "rope_scaling.long_factor has 2 numbers, expected head_dim / 2 = 3"));
}

TEST_CASE("presets of Mistral and Phi-3 have the published numbers of parameters") {
  LlmPlugins plugins;
  check_published(plugins, "mistral", {"mistral_7b_v0.1", 7241732096}, 8, 3);
  check_published(plugins, "mistral", {"mistral_7b_v0.3", 7248023552}, 8, 3);
  check_published(plugins, "phi3", {"phi_3_mini_4k", 3821079552}, 8, 3);
  check_published(plugins, "phi3", {"phi_3_medium_4k", 13960238080}, 2, 3);
}
