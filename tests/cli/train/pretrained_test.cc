// A backbone from a folder of Hugging Face: its initial values, and what a checkpoint keeps of it.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const std::string kEmbedding = "embed_tokens.weight";

/// The language model of a trained run, as transformers would have written it.
fs::path pretrained_folder(const fs::path& parent) {
  const fs::path folder = parent / "hf";
  const Outcome outcome =
      run_s2s({"checkpoint", "export", (uninterrupted_run() / "checkpoints/last").string(),
               folder.string()});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  return folder;
}

/// The sizes come from the folder alone.
Words from(const fs::path& folder, const Words& more = {}) {
  Words words = {"model.llm.path=" + folder.string()};
  for (const std::string key : {"vocab_size", "hidden_size", "intermediate_size",
                                "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                                "max_position_embeddings", "tie_word_embeddings"}) {
    words.push_back("~model.llm." + key);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The embedding after three steps that change next to nothing.
at::Tensor embedding(const fs::path& run) { return weights(run).tensor(kEmbedding); }

const Words kStill = {"trainer.max_steps=3", "model.optimizer.lr=1e-9",
                      "model.lr_scheduler.min_lr=1e-10"};

}  // namespace

TEST_CASE("pretrained_weights: false takes the sizes of a folder and leaves its weights") {
  const TemporaryFolder parent;
  const fs::path hf = pretrained_folder(parent.path());
  train_tiny(parent.path() / "warm", from(hf, kStill));
  Words cold = from(hf, kStill);
  cold.push_back("model.pretrained_weights=false");
  train_tiny(parent.path() / "cold", cold);
  const at::Tensor trained = embedding(uninterrupted_run());
  CHECK(at::allclose(embedding(parent.path() / "warm"), trained, 0, 1e-6));
  CHECK_FALSE(at::allclose(embedding(parent.path() / "cold"), trained, 0, 1e-2));
}

TEST_CASE("the family of a folder need not be named") {
  const TemporaryFolder parent;
  const fs::path hf = pretrained_folder(parent.path());
  Words words = from(hf, kStill);
  words.push_back("~model.llm.name");
  const std::string said = train_tiny(parent.path() / "run", words);
  CHECK_MESSAGE(contains(said, "its config.json says llama, read as name: llama"), said);
  const std::string alone = (parent.path() / "alone.yaml").string();
  write_text(alone, "model:\n  llm: { path: " + hf.string() + " }\n");
  const Outcome planned = run_s2s({"plan", alone});
  CHECK_MESSAGE(planned.exit_code == 0, planned.output);
}

TEST_CASE("a written key wins over the folder's, and is named") {
  const TemporaryFolder parent;
  const fs::path hf = pretrained_folder(parent.path());
  const std::string said = train_tiny(
      parent.path() / "run",
      from(hf, {"trainer.max_steps=3", "model.llm.rms_norm_eps=1e-3", "model.llm.hidden_size=64"}));
  CHECK(contains(said, "model.llm.rms_norm_eps: 1e-3 (command line"));
  CHECK(contains(said, " of '" + hf.string() + "/config.json'"));
  CHECK_FALSE(contains(said, "hidden_size"));  // both say the same
}

TEST_CASE("a private file that a downloaded folder links to is not copied into a run") {
  const TemporaryFolder parent;
  const fs::path hf = pretrained_folder(parent.path());
  write_text(parent.path() / "id_rsa", "private");
  fs::remove(hf / "generation_config.json");
  fs::create_symlink(parent.path() / "id_rsa", hf / "generation_config.json");
  const Outcome refused = run_s2s(tiny_words("train", parent.path() / "run", from(hf)));
  CHECK(refused.exit_code == 3);
  CHECK(contains(refused.output, "[weights/link]"));
  CHECK(contains(refused.output, "generation_config.json is a link to "));
  CHECK_FALSE(fs::exists(parent.path() / "run/llm/generation_config.json"));
}

TEST_CASE("a checkpoint answers and goes on when the pretrained folder has gone") {
  const TemporaryFolder parent;
  const fs::path hf = pretrained_folder(parent.path());
  const fs::path run = parent.path() / "run";
  write_text(hf / "generation_config.json", "{\"temperature\": 0.7}");
  train_tiny(run, from(hf, {"trainer.max_steps=3"}));
  fs::remove_all(hf);

  const std::string last = (run / "checkpoints/last").string();
  CHECK(read_text(run / "checkpoints/last/llm/config.json") == read_text(run / "llm/config.json"));
  Words words = {"generate", (run / "config.yaml").string(),   "--checkpoint", last,
                 "--output", (parent.path() / "out").string(), "--input"};
  for (const auto& entry : fs::recursive_directory_iterator(tiny_set())) {
    if (entry.path().extension() != ".wav") continue;
    words.push_back(entry.path().string());
    break;
  }
  const Outcome answered = run_s2s(words);
  CHECK_MESSAGE(answered.exit_code == 0, answered.output);
  const Outcome validated = run_s2s(
      {"validate", (run / "config.yaml").string(), "--checkpoint", last, "--limit-batches", "1"});
  CHECK_MESSAGE(validated.exit_code == 0, validated.output);
  const Outcome exported =
      run_s2s({"checkpoint", "export", last, (parent.path() / "again").string()});
  CHECK_MESSAGE(exported.exit_code == 0, exported.output);
  const auto defaults =
      nlohmann::json::parse(read_text(parent.path() / "again/generation_config.json"));
  CHECK(defaults == nlohmann::json{{"temperature", 0.7}, {"bos_token_id", 1}, {"eos_token_id", 2}});
  // A variable that the path came from is not needed either.
  const fs::path moved = parent.path() / "moved ${x}";
  fs::copy(fs::canonical(last), moved, fs::copy_options::recursive);
  std::string config = read_text(moved / "config.yaml");
  REQUIRE(contains(config, hf.string()));
  config.replace(config.find(hf.string()), hf.string().size(), "\"${oc.env:S2S_TEST_NOTHING}/hf\"");
  write_text(moved / "config.yaml", config);
  const Outcome elsewhere =
      run_s2s({"checkpoint", "export", moved.string(), (parent.path() / "elsewhere").string()});
  CHECK_MESSAGE(elsewhere.exit_code == 0, elsewhere.output);
  fs::remove_all(moved / "llm");
  const Outcome without =
      run_s2s({"checkpoint", "export", moved.string(), (parent.path() / "none").string()});
  CHECK_MESSAGE(contains(without.output, "there is no environment variable 'S2S_TEST_NOTHING'"),
                without.output);
  train_tiny(run, from(hf, {"trainer.max_steps=4"}));
  CHECK(num_steps_logged(run) == 4);

  const Outcome fresh = run_s2s(tiny_words("train", parent.path() / "fresh", from(hf)));
  CHECK(fresh.exit_code == 5);
  CHECK(contains(fresh.output, "[weights/unreadable]"));
  CHECK(contains(fresh.output, hf.string()));
}
