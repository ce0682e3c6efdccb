// checkpoint export: what transformers and PEFT load (tests/reference/export_check.py asks them).

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

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

TEST_CASE("what cannot be exported says why") {
  const TemporaryFolder folder;
  const Outcome missing = run_s2s({"checkpoint", "export", "no/such/step=3", "out"});
  CHECK(contains(missing.output, "[checkpoint/missing] no checkpoint at no/such/step=3"));
  const Outcome plain = export_to(uninterrupted_run(), folder.path() / "out", {"--adapter"});
  CHECK(plain.exit_code != 0);
  CHECK(contains(plain.output, "has no model.lora"));
  const Outcome dtype = export_to(uninterrupted_run(), folder.path() / "out", {"--dtype", "int3"});
  CHECK(dtype.exit_code != 0);
  CHECK(contains(dtype.output, "int3"));
}
