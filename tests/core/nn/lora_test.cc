#include "nn/lora.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/device.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "plan/plan_check.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/weights.h"
#include "weights/lora_fused.h"
#include "weights/safetensors.h"

using namespace s2s::test;

namespace {

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/";

/// The model of peft_lora.py.
class SmallDecoder : public s2s::Decoder {
 public:
  SmallDecoder() : Decoder(spec()) {}
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override {
    using enum s2s::Style;
    return plan_with({{"layers.*.input_layernorm", kSequence},
                      {"layers.*.self_attn.q_proj", kColwise},
                      {"layers.*.self_attn.k_proj", kColwise},
                      {"layers.*.self_attn.v_proj", kColwise},
                      {"layers.*.self_attn.o_proj", kRowwise},
                      {"layers.*.post_attention_layernorm", kSequence},
                      {"layers.*.mlp.gate_proj", kColwise},
                      {"layers.*.mlp.up_proj", kColwise},
                      {"layers.*.mlp.down_proj", kRowwise},
                      {"norm", kSequence}},
                     {});
  }

 private:
  static s2s::DecoderSpec spec() {
    s2s::DecoderSpec spec;
    spec.shape = {40, 24, 2, 4, 2, 6, 36, false};
    spec.norm_eps = 1e-5;
    return spec;
  }
};

s2s::LoraOptions peft_options() {
  s2s::LoraOptions options;
  options.r = 3;
  options.lora_alpha = 12;
  options.target_modules = {"q_proj", "v_proj", "mlp.down_proj"};
  return options;
}

at::Tensor logits(s2s::Decoder& model, const at::Tensor& ids) {
  return model.logits(model(model.embed(ids), {}));
}

bool is_close(const at::Tensor& ours, const at::Tensor& theirs) {
  return at::allclose(ours.cpu(), theirs, 1e-4, 2e-5);
}

void load_adapter(const std::string& folder, s2s::Block& root, const s2s::NameMap& names,
                  const s2s::LoraOptions& options) {
  const auto values = s2s::stored_adapter(folder, root, names, options);
  for (const s2s::NamedTensor& parameter : root.named_parameters()) {
    if (parameter.name.find(".lora_") == std::string::npos) continue;
    values->write(parameter.tensor, *parameter.tensor);
  }
}

/// The reference's model with its adapter; base weights do not train.
struct Adapted {
  Adapted() {
    unmatched = s2s::add_lora(model, peft_options());
    model.materialize(device(), at::kFloat, 1);
    s2s::NameMap names = model.checkpoint_names();
    std::vector<s2s::NamedTensor> base;
    for (s2s::NamedTensor& parameter : model.named_parameters()) {
      if (parameter.name.find(".lora_") == std::string::npos) base.push_back(parameter);
    }
    s2s::load_tensors(base, names, file.tensors("weights/"), "peft_lora");
    load_adapter(kData + "peft_lora", model, names, peft_options());
  }
  s2s::SafetensorsFile file = s2s::SafetensorsFile::open(kData + "peft_lora.safetensors");
  SmallDecoder model;
  std::vector<std::string> unmatched;
};

}  // namespace

TEST_CASE("an adapter of PEFT gives PEFT's logits and gradients") {
  Adapted adapted;
  CHECK(adapted.unmatched.empty());
  const at::Tensor out = logits(adapted.model, adapted.file.tensor("input/ids").to(device()));
  CHECK(is_close(out, adapted.file.tensor("output/logits")));
  (out * adapted.file.tensor("input/direction").to(device())).mean().backward();
  const s2s::TensorMap expected = adapted.file.tensors("grad/");
  CHECK(expected.size() == 12);
  for (const s2s::NamedTensor& parameter : adapted.model.named_parameters()) {
    const size_t at = parameter.name.find(".lora_");
    if (at == std::string::npos) continue;
    const auto theirs = expected.find("base_model.model.model." + parameter.name);
    REQUIRE(theirs != expected.end());
    CHECK(is_close(parameter.tensor->grad(), theirs->second));
  }
}

TEST_CASE("merged adapters compute the same alone") {
  Adapted adapted;
  const at::NoGradGuard no_grad;
  const at::Tensor ids = adapted.file.tensor("input/ids").to(device());
  const s2s::TensorMap expected = adapted.file.tensors("merged/");
  CHECK(expected.size() == 6);
  s2s::merge_lora(adapted.model);
  s2s::merge_lora(adapted.model);
  CHECK(is_close(logits(adapted.model, ids), adapted.file.tensor("output/logits")));
  const s2s::TensorMap merged =
      s2s::export_weights(adapted.model, adapted.model.checkpoint_names());
  for (const auto& [name, tensor] : expected) CHECK(is_close(merged.at(name), tensor));
}

TEST_CASE("a new adapter changes nothing until it is trained, and drops inputs only in training") {
  SmallDecoder plain, adapted;
  s2s::LoraOptions options = peft_options();
  options.lora_dropout = 0.5;
  s2s::add_lora(adapted, options);
  plain.materialize(device(), at::kFloat, 1);
  adapted.materialize(device(), at::kFloat, 1);
  const at::NoGradGuard no_grad;
  const at::Tensor ids = at::randint(40, {2, 5}, on_device(at::kLong));
  CHECK(at::equal(logits(plain, ids), logits(adapted, ids)));
  for (const s2s::NamedTensor& parameter : adapted.named_parameters()) {
    if (parameter.name.ends_with("lora_B.weight")) parameter.tensor->fill_(0.1);
  }
  adapted.train(false);
  CHECK(at::equal(logits(adapted, ids), logits(adapted, ids)));
  adapted.train(true);
  CHECK_FALSE(at::equal(logits(adapted, ids), logits(adapted, ids)));
}

TEST_CASE("targets that match nothing are reported, and an adapter of none is an error") {
  SmallDecoder some, none, all;
  s2s::LoraOptions options = peft_options();
  options.target_modules = {"layers.1.self_attn.q_proj", "query", "layers.*.mlp.up_proj"};
  CHECK(s2s::add_lora(some, options) == std::vector<std::string>{"query"});
  CHECK(some.find_block("layers.1.self_attn.q_proj.lora_A") != nullptr);
  CHECK(some.find_block("layers.0.self_attn.q_proj.lora_A") == nullptr);
  CHECK(some.find_block("layers.0.mlp.up_proj.lora_B") != nullptr);
  options.target_modules = {"query", "lm_head"};
  const std::string error = error_of([&] { s2s::add_lora(none, options); });
  CHECK(has(error, "[lora/targets]"));
  CHECK(has(error, "q_proj"));
  SmallDecoder usual;
  options.target_modules = {};
  CHECK(s2s::add_lora(usual, options).empty());
  CHECK(usual.find_block("layers.0.self_attn.q_proj.lora_A") != nullptr);
  CHECK(usual.find_block("layers.1.self_attn.v_proj.lora_A") != nullptr);
  CHECK(usual.find_block("layers.0.self_attn.k_proj.lora_A") == nullptr);
  options.target_modules = {"all-linear"};
  s2s::add_lora(all, options);
  CHECK(all.find_block("layers.0.mlp.gate_proj.lora_A") != nullptr);
  CHECK(all.find_block("lm_head.lora_A") == nullptr);
}

TEST_CASE("adapters are written as PEFT names them, and read again") {
  const TemporaryFolder folder;
  Adapted adapted;
  const s2s::NameMap names = adapted.model.checkpoint_names();
  const s2s::TensorMap ours = s2s::lora_tensors(adapted.model, names);
  const auto theirs = s2s::read_weights(kData + "peft_lora/adapter_model.safetensors");
  REQUIRE(ours.size() == theirs.size());
  for (const auto& [name, tensor] : theirs) CHECK(at::equal(ours.at(name).cpu(), tensor));
  s2s::write_adapter(folder.path(), ours, peft_options(), "models/base");
  std::ifstream config(folder / "adapter_config.json");
  CHECK(nlohmann::json::parse(config)["base_model_name_or_path"] == "models/base");
  load_adapter(folder.path(), adapted.model, names, peft_options());
}

TEST_CASE("adapters of layers that a class joins become one adapter with the same update") {
  const TemporaryFolder folder;
  Adapted adapted;
  s2s::NameMap names = adapted.model.checkpoint_names();
  for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
    names.other_spellings.push_back({std::string("layers.*.self_attn.") + part + ".weight",
                                     "model.layers.*.self_attn.qkv_proj.weight"});
  }
  const s2s::TensorMap apart = s2s::lora_tensors(adapted.model, names);
  const s2s::TensorMap joined = s2s::joined_lora_tensors(adapted.model, names);
  const std::string attention = "base_model.model.model.layers.1.self_attn.";
  const auto part_of = [&](const s2s::TensorMap& tensors, const std::string& layer) {
    return at::matmul(tensors.at(attention + layer + ".lora_B.weight").cpu(),
                      tensors.at(attention + layer + ".lora_A.weight").cpu());
  };
  const at::Tensor update = part_of(joined, "qkv_proj");
  CHECK(update.sizes() == at::IntArrayRef({48, 24}));
  const at::Tensor expected =
      at::cat({part_of(apart, "q_proj"), at::zeros({12, 24}), part_of(apart, "v_proj")}, 0);
  CHECK(at::allclose(update, expected, 0, 1e-7));
  CHECK(joined.count(attention + "q_proj.lora_A.weight") == 0);
  CHECK(joined.size() == 8);  // A and B of qkv_proj and down_proj, in two layers
  s2s::LoraOptions options = peft_options();
  options.target_modules = s2s::adapted_modules(joined);
  CHECK(options.target_modules.front() == "model.layers.0.mlp.down_proj");
  s2s::write_adapter(folder.path(), joined, options);
  std::ifstream file(folder / "adapter_config.json");
  const auto config = nlohmann::json::parse(file);
  CHECK(config["rank_pattern"] == nlohmann::json{{"qkv_proj", 6}});
  CHECK(config["alpha_pattern"] == nlohmann::json{{"qkv_proj", 24.0}});
  CHECK(config["base_model_name_or_path"].is_null());
}

TEST_CASE("an adapter that does not fit the options is an error") {
  const TemporaryFolder folder;
  Adapted adapted;
  const s2s::NameMap names = adapted.model.checkpoint_names();
  const auto load = [&](const s2s::LoraOptions& options, const std::string& from) {
    return error_of([&] { load_adapter(from, adapted.model, names, options); });
  };
  s2s::LoraOptions options = peft_options();
  options.r = 4;
  CHECK(has(load(options, kData + "peft_lora"), "'r' is 3, expected 4, as in model.lora"));
  std::filesystem::copy(kData + "peft_lora", folder.path());
  const std::string config = folder / "adapter_config.json";
  write_bytes(config, R"({"r":3,"lora_alpha":12,"use_dora":true})");
  CHECK(has(load(peft_options(), folder.path()), "'use_dora' is true, expected null or false"));
  write_bytes(config, R"({"r":3})");
  CHECK(has(load(peft_options(), folder.path()), "'lora_alpha' is not a number"));
  CHECK(has(load(peft_options(), folder / "none"), "[weights/unreadable]"));
}

TEST_CASE("each key of an adapter is used, has no effect, or is refused by its name") {
  const TemporaryFolder folder;
  Adapted adapted;
  const s2s::NameMap names = adapted.model.checkpoint_names();
  std::filesystem::copy(kData + "peft_lora", folder.path());
  const auto load = [&](const std::string& key, const std::string& value) {
    write_bytes(folder / "adapter_config.json",
                R"({"peft_type":"LORA","r":3,"lora_alpha":12,")" + key + "\":" + value + "}");
    return error_of([&] { load_adapter(folder.path(), adapted.model, names, peft_options()); });
  };
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"auto_mapping", R"({"base_model_class":"LlamaForCausalLM"})"},
           {"fan_in_fan_out", "true"},
           {"megatron_core", R"("megatron.core")"},
           {"init_lora_weights", R"("gaussian")"},
           {"qalora_group_size", "16"},
           {"loftq_config", R"({"loftq_bits":4})"},
           {"modules_to_save", "[]"},
           {"bias", R"("none")"},
           {"key_of_a_year_to_come", "null"},
           {"use_key_of_a_year_to_come", "false"}}) {
    CHECK_MESSAGE(load(key, value) == "", key);
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"use_dora", "true"},
                                                        {"lora_bias", "true"},
                                                        {"bias", R"("all")"},
                                                        {"modules_to_save", R"(["lm_head"])"},
                                                        {"trainable_token_indices", "[0, 1]"},
                                                        {"layer_replication", "[[0, 1], [1, 2]]"},
                                                        {"use_qalora", "true"},
                                                        {"target_parameters", R"(["mlp.experts"])"},
                                                        {"alora_invocation_tokens", "[1]"},
                                                        {"arrow_config", R"({"top_k":1})"},
                                                        {"megatron_config", R"({"a":1})"},
                                                        {"init_lora_weights", R"("pissa")"},
                                                        {"init_lora_weights", R"("loftq")"},
                                                        {"use_rslora", "true"},
                                                        {"rank_pattern", R"({"q_proj":4})"},
                                                        {"alpha_pattern", R"({"q_proj":4})"},
                                                        {"use_key_of_a_year_to_come", "true"},
                                                        {"key_of_a_year_to_come", "16"}}) {
    const std::string error = load(key, value);
    CHECK_MESSAGE(has(error, "[lora/adapter]"), key);
    CHECK_MESSAGE(has(error, "'" + key + "' is "), key);
  }
}

TEST_CASE("patterns choose layers, ranks and scales as PEFT's do") {
  const auto adapted = [](const s2s::LoraOptions& options) {
    SmallDecoder model;
    s2s::add_lora(model, options);
    model.materialize(device(), at::kFloat, 1);
    std::string found;
    for (const s2s::NamedTensor& parameter : model.named_parameters()) {
      const size_t at = parameter.name.find(".lora_A");
      if (at == std::string::npos) continue;
      found += parameter.name.substr(0, at) + ":" + std::to_string(parameter.tensor->size(0)) + " ";
    }
    return found;
  };
  s2s::LoraOptions options;
  options.r = 3;
  options.target_pattern = R"(model\.layers\.1\.self_attn\.(q_proj|k_proj))";
  CHECK(adapted(options) == "layers.1.self_attn.q_proj:3 layers.1.self_attn.k_proj:3 ");
  options.target_pattern = ".*k_proj";
  options.exclude_modules = {"0.self_attn.k_proj"};
  CHECK(adapted(options) == "layers.1.self_attn.k_proj:3 ");
  options.target_pattern.reset();
  options.exclude_modules.clear();
  options.exclude_pattern = ".*v_proj";
  options.layers_to_transform = {1};
  options.rank_pattern = s2s::Config::map();
  options.rank_pattern["layers.1.*q_proj"] = s2s::Config::scalar("5");
  CHECK(adapted(options) == "layers.1.self_attn.q_proj:5 ");
  options.layers_pattern = {"blocks"};
  CHECK(has(error_of([&] { adapted(options); }), "[lora/targets]"));
  options.layers_to_transform.clear();
  options.target_pattern = "q_proj";  // no whole name
  const std::string none = error_of([&] { adapted(options); });
  CHECK(has(none, "[lora/targets]"));
  CHECK(has(none, "a regular expression that must match a whole module name"));
  options.target_pattern = "(q_proj";
  CHECK(has(error_of([&] { adapted(options); }), "[lora/pattern] model.lora.target_pattern"));
  options.target_pattern.reset();
  options.target_modules = {"q_proj", "lm_head"};
  CHECK(has(error_of([&] { adapted(options); }), "'lm_head' is the module 'lm_head'"));
  options.use_rslora = true;
  CHECK(options.scale(4, 8) == 4.0);
}

TEST_CASE("a plan has rows for adapters beside the weights they belong to") {
  SmallDecoder model;
  s2s::add_lora(model, peft_options());
  s2s::ShardPlan plan = model.configure_model({});
  CHECK_FALSE(s2s::check_plan(model, plan, {}).empty());
  s2s::add_lora_rows(model, plan);
  s2s::PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  CHECK_NOTHROW(s2s::check_plan(model, plan, inputs).throw_if_any());
}
