// Where an exported language model stops, and the base that an exported adapter names
// (tests/reference/export_stops_check.py asks transformers and PEFT).

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The tiny run's checkpoint in a folder of its own. Its tokenizer has <unk> 0, <s> 1, </s> 2 and
/// <pad> 3; 20 is a piece of a word.
struct CheckpointCopy {
  CheckpointCopy() {
    fs::copy(fs::canonical(uninterrupted_run() / "checkpoints/last"), path,
             fs::copy_options::recursive);
  }
  Outcome export_to(const std::string& name, const Words& more = {}) const {
    return run_s2s(
        with({"checkpoint", "export", path.string(), (folder.path() / name).string()}, more));
  }
  json read(const std::string& file) const { return json::parse(read_text(folder.path() / file)); }

  TemporaryFolder folder;
  fs::path path = folder.path() / "step=24";
};

}  // namespace

TEST_CASE("config.json, generation_config.json and the tokenizer's files say one end") {
  const CheckpointCopy checkpoint;
  REQUIRE(checkpoint.export_to("hf").exit_code == 0);
  for (const char* file : {"hf/config.json", "hf/generation_config.json"}) {
    CAPTURE(file);
    CHECK(checkpoint.read(file)["eos_token_id"] == 2);
    CHECK(checkpoint.read(file)["bos_token_id"] == 1);
  }
  CHECK(checkpoint.read("hf/tokenizer_config.json")["eos_token"] == "</s>");
}

TEST_CASE("the ends of the folder that a model came with stay, but not those that are words here") {
  const CheckpointCopy checkpoint;
  fs::create_directory(checkpoint.path / "llm");
  write_text(checkpoint.path / "llm/generation_config.json",
             R"({"temperature": 0.7, "eos_token_id": [3, 20, 9000]})");
  REQUIRE(checkpoint.export_to("hf").exit_code == 0);
  const json generation = checkpoint.read("hf/generation_config.json");
  CHECK(generation["temperature"] == 0.7);
  CHECK(generation["eos_token_id"] == json({2, 3}));
  CHECK(checkpoint.read("hf/config.json")["eos_token_id"] == json({2, 3}));
  // Without a tokenizer, the folder's ids are all that is known.
  fs::remove_all(checkpoint.path / "tokenizer");
  REQUIRE(checkpoint.export_to("bare").exit_code == 0);
  CHECK(checkpoint.read("bare/config.json")["eos_token_id"] == json({3, 20, 9000}));
  CHECK(checkpoint.read("bare/config.json")["bos_token_id"].is_null());
  // A file that is no object stays as it is.
  write_text(checkpoint.path / "llm/generation_config.json", "[1]");
  REQUIRE(checkpoint.export_to("list").exit_code == 0);
  CHECK(checkpoint.read("list/generation_config.json") == json({1}));
}

TEST_CASE("an adapter names the folder that its base came from, or one beside it") {
  const TemporaryFolder folder;
  const std::string hf = (folder.path() / "hf").string();
  const std::string last = (uninterrupted_run() / "checkpoints/last").string();
  REQUIRE(run_s2s({"checkpoint", "export", last, hf}).exit_code == 0);
  const auto adapter_of = [&](const std::string& name, const Words& options, const Words& more) {
    const fs::path run = folder.path() / name;
    Words words = {"trainer.max_steps=2", "model.lr_scheduler.warmup_steps=0", "model.lora.r=2",
                   "model.llm.path=" + hf};
    train_tiny(run, with(words, options));
    const fs::path output = folder.path() / (name + "-adapter");
    const Outcome outcome =
        run_s2s(with({"checkpoint", "export", "--adapter", run.string(), output.string()}, more));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    const json config = json::parse(read_text(output / "adapter_config.json"));
    return std::pair{config["base_model_name_or_path"].get<std::string>(), output};
  };
  const Words frozen = {R"(model.freeze_params=["^embed_tokens", "^lm_head"])"};
  CHECK(adapter_of("frozen", frozen, {}).first == hf);
  CHECK(adapter_of("named", frozen, {"--base-model", "acme/base"}).first == "acme/base");
  // The embedding trains, too: the folder has other weights.
  const auto [base, output] = adapter_of("trained", {}, {});
  CHECK(base == (output / "base").string());
  CHECK(fs::exists(output / "base/model.safetensors"));
  CHECK(json::parse(read_text(output / "base/config.json"))["eos_token_id"] == 2);
}
