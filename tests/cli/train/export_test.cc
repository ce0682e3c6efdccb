// checkpoint export: what transformers and PEFT load (tests/reference/export_check.py asks them).

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "s2s/nn/weights.h"

using namespace s2s::test;
using s2s::SafetensorsFile;
namespace fs = std::filesystem;

namespace {

Outcome export_to(const fs::path& run, const fs::path& output, const Words& more = {}) {
  Words words = {"checkpoint", "export", (run / "checkpoints/last").string(), output.string()};
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(words);
}

const std::string kQuery = "layers.0.self_attn.q_proj";
const std::string kValue = "layers.0.self_attn.v_proj.weight";

}  // namespace

TEST_CASE("an exported language model holds the checkpoint's numbers under Hugging Face's names") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "hf";
  const Outcome outcome = export_to(uninterrupted_run(), output);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const SafetensorsFile exported = SafetensorsFile::open((output / "model.safetensors").string());
  const SafetensorsFile stored = weights(uninterrupted_run());
  CHECK(exported.tensor("model." + kValue).equal(stored.tensor("llm." + kValue)));
  CHECK(exported.tensor("model.embed_tokens.weight").equal(stored.tensor("embed_tokens.weight")));
  size_t of_llm = 1;  // the embedding lies beside the rest
  for (const auto& [name, entry] : stored.entries()) of_llm += name.starts_with("llm.") ? 1 : 0;
  CHECK(exported.entries().size() == of_llm);
  const std::string config = read_text(output / "config.json");
  CHECK(contains(config, "\"LlamaForCausalLM\""));
  CHECK(contains(config, "\"torch_dtype\": \"float32\""));
  CHECK(fs::exists(output / "tokenizer.model"));
}

TEST_CASE("an export has the tokenizer as transformers reads it, and as we do") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "hf";
  REQUIRE(export_to(uninterrupted_run(), output).exit_code == 0);
  const auto tokenizer = nlohmann::json::parse(read_text(output / "tokenizer.json"));
  CHECK(tokenizer["model"]["vocab"].size() > 4);
  const auto config = nlohmann::json::parse(read_text(output / "tokenizer_config.json"));
  CHECK(config["eos_token"] == "</s>");
  const Outcome ids =
      run_s2s({"tokenizer", "encode", output.string(), "--plugin", "sentencepiece", "hello you"});
  CHECK(run_s2s({"tokenizer", "encode", output.string(), "hello you"}).output == ids.output);
}

TEST_CASE("an export of a tokenizer that cannot be opened says so, and is written") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", output = folder.path() / "hf";
  fs::copy(uninterrupted_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  write_text(run / "checkpoints/last/tokenizer/tokenizer.model", "no model");
  const Outcome outcome = export_to(run, output);
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(contains(outcome.output, "has no tokenizer for transformers"));
  CHECK(contains(outcome.output, "[tokenizer/unreadable]"));
  CHECK_FALSE(fs::exists(output / "tokenizer.json"));
}

TEST_CASE("adapters are merged into an exported model, or exported alone") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, {"trainer.max_steps=4", "model.lora.r=2", "model.lora.target_modules=[q_proj]",
                   "model.optimizer.lr=0.05"});
  const SafetensorsFile stored = weights(run);
  const std::string query = "llm." + kQuery;
  const at::Tensor plain = stored.tensor(query + ".weight");
  const at::Tensor update =
      at::matmul(stored.tensor(query + ".lora_B.weight"), stored.tensor(query + ".lora_A.weight"));
  REQUIRE(update.abs().max().item<float>() > 1e-4);

  REQUIRE(export_to(run, folder.path() / "whole").exit_code == 0);
  const auto whole = SafetensorsFile::open((folder.path() / "whole/model.safetensors").string());
  // lora_alpha 8 over r 2.
  CHECK(at::allclose(whole.tensor("model." + kQuery + ".weight"), plain + 4 * update, 0, 1e-6));
  CHECK(whole.tensor("model." + kValue).equal(stored.tensor("llm." + kValue)));
  for (const auto& [name, entry] : whole.entries()) CHECK_FALSE(contains(name, "lora"));

  REQUIRE(export_to(run, folder.path() / "adapter", {"--adapter"}).exit_code == 0);
  const auto adapter =
      SafetensorsFile::open((folder.path() / "adapter/adapter_model.safetensors").string());
  CHECK(adapter.entries().size() == 4);  // A and B of both layers
  CHECK(adapter.tensor("base_model.model.model." + kQuery + ".lora_B.weight")
            .equal(stored.tensor(query + ".lora_B.weight")));
}

TEST_CASE("a larger model is exported in shards, which are read back") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "hf";
  const Outcome small = export_to(uninterrupted_run(), output, {"--max-shard-size", "100KB"});
  REQUIRE_MESSAGE(small.exit_code == 0, small.output);
  CHECK(fs::exists(output / "model.safetensors.index.json"));
  CHECK_FALSE(fs::exists(output / "model.safetensors"));
  const s2s::TensorMap shards = s2s::read_weights(output.string());
  const fs::path whole = folder.path() / "whole";
  REQUIRE(export_to(uninterrupted_run(), whole, {"--dtype", "bfloat16"}).exit_code == 0);
  const s2s::TensorMap halves = s2s::read_weights(whole.string());
  REQUIRE(halves.size() == shards.size());
  for (const auto& [name, tensor] : shards) {
    CHECK_MESSAGE(halves.at(name).equal(tensor.to(at::kBFloat16)), name);
  }
  CHECK(contains(read_text(whole / "config.json"), "\"torch_dtype\": \"bfloat16\""));
  // The same folder again, in one file: nothing of the shards is left.
  REQUIRE(export_to(uninterrupted_run(), output, {"--force"}).exit_code == 0);
  CHECK_FALSE(fs::exists(output / "model.safetensors.index.json"));
  CHECK(s2s::read_weights(output.string()).size() == shards.size());
  const Outcome none = export_to(uninterrupted_run(), output, {"--max-shard-size", "0"});
  CHECK(none.exit_code == 2);
}

TEST_CASE("every family's export is what transformers' class of it reads") {
  const TemporaryFolder folder;
  const auto exported = [&](const std::string& name, const Words& options) {
    Words all = {"trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0"};
    all.insert(all.end(), options.begin(), options.end());
    const fs::path run = folder.path() / name, output = folder.path() / (name + "-hf");
    train_tiny(run, all);
    const Outcome outcome = export_to(run, output);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(contains(outcome.output, "AutoTokenizer of transformers 5 gives different ids") ==
          (name == "qwen"));
    // Our own reader takes the folder, sizes included, and gives the same model.
    Words again = {"model.llm={name: " + name + ", path: '" + output.string() + "'}",
                   "trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0"};
    train_tiny(folder.path() / (name + "-again"), again);
    return nlohmann::json::parse(read_text(output / "config.json"));
  };
  const auto gemma =
      exported("gemma", {"model.llm.name=gemma", "model.llm.model_type=gemma2",
                         "model.llm.sliding_window=16", "model.llm.attn_logit_softcapping=null"});
  CHECK(gemma["architectures"][0] == "Gemma2ForCausalLM");
  CHECK(gemma["head_dim"] == 16);
  CHECK(gemma["layer_types"] == nlohmann::json({"sliding_attention", "full_attention"}));
  CHECK(gemma["hidden_activation"] == "gelu_pytorch_tanh");
  CHECK(gemma["query_pre_attn_scalar"] == 256);
  REQUIRE(gemma.contains("attn_logit_softcapping"));  // its default is not null
  CHECK(gemma["attn_logit_softcapping"].is_null());
  CHECK(gemma["final_logit_softcapping"] == 30);
  const auto qwen =
      exported("qwen", {"model.llm.name=qwen", "model.llm.model_type=qwen2",
                        "model.llm.use_sliding_window=true", "model.llm.max_window_layers=1",
                        "model.llm.sliding_window=16"});
  CHECK(qwen["architectures"][0] == "Qwen2ForCausalLM");
  CHECK(qwen["layer_types"] == nlohmann::json({"full_attention", "sliding_attention"}));
  CHECK(qwen["sliding_window"] == 16);
}

TEST_CASE("an export writes over another one with --force only, and over no checkpoint") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "hf";
  REQUIRE(export_to(uninterrupted_run(), output, {"--max-shard-size", "100kB"}).exit_code == 0);
  CHECK(fs::exists(output / "model.safetensors.index.json"));
  const Outcome again = export_to(uninterrupted_run(), output);
  CHECK(again.exit_code == 5);
  CHECK(contains(again.output, "[io/exists] '" + output.string() + "' already exists"));
  CHECK(export_to(uninterrupted_run(), output, {"--force"}).exit_code == 0);
  CHECK_FALSE(fs::exists(output / "model.safetensors.index.json"));  // which readers would take
  CHECK(fs::exists(output / "model.safetensors"));
  write_text(output / ".s2s-export-unfinished", "");  // as an export that was killed
  CHECK(export_to(uninterrupted_run(), output).exit_code == 0);
  CHECK_FALSE(fs::exists(output / ".s2s-export-unfinished"));
  const fs::path last = uninterrupted_run() / "checkpoints/last";
  const Outcome onto = export_to(uninterrupted_run(), last, {"--force"});
  CHECK(onto.exit_code == 5);
  CHECK(contains(onto.output, "is a checkpoint of a run"));
  CHECK(run_s2s({"checkpoint", "verify", last.string()}).exit_code == 0);
}

TEST_CASE("what cannot be exported says why") {
  const TemporaryFolder folder;
  const Outcome missing = run_s2s({"checkpoint", "export", "no/such/step=3", "out"});
  CHECK(contains(missing.output, "[checkpoint/missing] no checkpoint at no/such/step=3"));
  const Outcome plain = export_to(uninterrupted_run(), folder.path() / "out", {"--adapter"});
  CHECK(plain.exit_code != 0);
  CHECK(contains(plain.output, "has no model.lora"));
  const Outcome size =
      export_to(uninterrupted_run(), folder.path() / "out", {"--max-shard-size", "large"});
  CHECK(size.exit_code == 2);
  CHECK(contains(size.output, "--max-shard-size"));
  // Biases that no class of transformers has.
  const fs::path run = folder.path() / "biased";
  train_tiny(run, {"trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0",
                   "model.llm.name=qwen", "model.llm.mlp_bias=true"});
  const Outcome biased = export_to(run, folder.path() / "out");
  CHECK(biased.exit_code == 3);
  CHECK(contains(biased.output, "[weights/config] config.json of the export: 'mlp_bias' is true"));
  const Outcome dtype = export_to(uninterrupted_run(), folder.path() / "out", {"--dtype", "int3"});
  CHECK(dtype.exit_code != 0);
  CHECK(contains(dtype.output, "int3"));
}
