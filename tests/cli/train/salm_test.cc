// SALM as a user runs it: training with word errors in validation, answers to recordings and sets.

#include <doctest/doctest.h>

#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string reference_path(const std::string& name) {
  return source_dir() + "/tests/reference/data/" + name;
}
std::string salm_talks() { return reference_path("nemo_conversations/talks.jsonl"); }

constexpr const char* kSalmConfig = R"(
model:
  type: salm
  prompt_format: qwen
  tokenizer:
    name: hf
    path: DATA/hf_tokenizer_qwen2.json
    bos_id: 5
    eos_id: 902
    pad_id: 900
    additional_special_tokens: ["<|audioplaceholder|>"]
  llm: { name: llama, vocab_size: 907, hidden_size: 32, intermediate_size: 48,
         num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2 }
  encoder:
    name: fastconformer
    preprocessor: { sample_rate: 16000, features: 32, normalize: NA, dither: 0.0 }
    encoder: { feat_in: 32, n_layers: 1, d_model: 32, n_heads: 4, subsampling_conv_channels: 8,
               ff_expansion_factor: 2, conv_kernel_size: 5, conv_norm_type: layer_norm }
  optimizer: { name: adamw, lr: 1e-2 }
  lr_scheduler: { name: cosine_annealing, warmup_steps: 0, max_steps: 10 }
data:
  train_ds: &set
    name: conversations
    prompt_format: ${model.prompt_format}
    input_cfg: [{ type: multimodal_conversation, manifest_filepath: TALKS }]
    batch_size: 2
  validation_ds: { datasets: { dev: *set } }
trainer:
  accelerator: cpu
  max_steps: 2
  val_check_interval: 2
  limit_val_generate_batches: 2
  strategy: { name: single }
exp_manager: { checkpoint_callback_params: { every_n_train_steps: 2 } }
)";

void replace_each(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::vector<json> salm_lines(const fs::path& file) {
  std::vector<json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

Outcome train_salm(const fs::path& folder, const Words& launcher, const Words& more) {
  std::string config = kSalmConfig;
  replace_each(config, "DATA", reference_path(""));
  replace_each(config, "TALKS", salm_talks());
  fs::create_directories(folder);
  write_text(folder / "salm.yaml", config);
  Words words = launcher;
  words.insert(words.end(), {"train", (folder / "salm.yaml").string(),
                             "exp_manager.explicit_log_dir=" + (folder / "run").string()});
  return run_s2s(with(words, more));
}

/// What lora trains of the language model: nothing but the adapters.
constexpr const char* kLora = "model.lora={r: 2, target_modules: [q_proj]}";

/// A run of two steps.
const fs::path& trained_salm() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const Outcome outcome = train_salm(folder.path(), {}, {});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return folder.path() / "run";
  }();
  return place;
}

Outcome ask_salm(const fs::path& output, const Words& more) {
  const Words words = {"generate", trained_salm().string(), "--max-new-tokens", "4",
                       "--output", output.string()};
  return run_s2s(with(words, more));
}

}  // namespace

TEST_CASE("validations of SALM have NeMo's loss and accuracy and, on request, word errors") {
  const std::vector<json> lines = salm_lines(trained_salm() / "metrics.jsonl");
  REQUIRE(lines.size() == 3);
  for (const char* name : {"loss", "acc", "txt_wer", "txt_bleu"}) CHECK(lines[2].contains(name));
  CHECK_FALSE(lines[2].contains("takeover_rate"));
  CHECK(lines[2]["txt_wer"].get<double>() > 0);
  const TemporaryFolder folder;
  const Outcome validated = run_s2s({"validate", trained_salm().string(), "--limit-batches", "2",
                                     "--json", "--report", (folder.path() / "report").string()});
  REQUIRE_MESSAGE(validated.exit_code == 0, validated.output);
  const size_t begin = validated.output.find("\n{");
  const json sets =
      json::parse(validated.output.substr(begin == std::string::npos ? 0 : begin)).at("sets");
  CHECK(sets.at("dev").at("txt_wer").get<double>() ==
        doctest::Approx(lines[2]["txt_wer"].get<double>()));
  CHECK(salm_lines(folder.path() / "report/predictions.jsonl").size() == 4);
  // Ranks whose answers have different lengths answer together.
  const Outcome sharded =
      train_salm(folder.path(), {"launch", "local", "-n", "2", "--"},
                 {"trainer.strategy={name: fsdp}", "data.train_ds.batch_size=1"});
  REQUIRE_MESSAGE(sharded.exit_code == 0, sharded.output);
  const std::vector<json> of_two = salm_lines(folder.path() / "run/metrics.jsonl");
  CHECK(of_two.back()["txt_wer"].get<double>() ==
        doctest::Approx(lines[2]["txt_wer"].get<double>()));
}

TEST_CASE("a set is answered with its references, its word errors and the speed") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const Outcome outcome = ask_salm(out, {"--input", salm_talks(), "--normalizer", "none"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<json> lines = salm_lines(out / "answers.jsonl");
  REQUIRE(lines.size() == 6);  // one is skipped
  CHECK(lines[1]["id"] == "talk-1");
  CHECK(lines[1]["duration"].get<double>() == doctest::Approx(0.455).epsilon(1e-3));
  CHECK(lines[1]["reference"] == "two of them");
  CHECK(lines[1].contains("text"));
  CHECK(contains(outcome.output, " of 10 words in 6 answers (normalizer: none)"));
  CHECK(contains(outcome.output, "RTFx: "));
  CHECK(contains(outcome.output, "TPS: "));
  // One by one, and of a compressed manifest or a list of inputs, the answers are the same.
  write_text(folder.path() / "inputs.yaml",
             "- { type: multimodal_conversation, manifest_filepath: " + salm_talks() + " }\n");
  const Outcome again =
      ask_salm(folder.path() / "again", {"--input", (folder.path() / "inputs.yaml").string(),
                                         "--normalizer", "none", "--batch-size", "1"});
  REQUIRE_MESSAGE(again.exit_code == 0, again.output);
  CHECK(salm_lines(folder.path() / "again/answers.jsonl") == lines);
}

TEST_CASE("a recording is answered as the same recording of a manifest") {
  const TemporaryFolder folder;
  const std::string wav = reference_path("nemo_loader/wavs/a2.flac");
  write_text(folder.path() / "one.json",
             R"({"audio_filepath": ")" + wav + R"(", "duration": 0.23})");
  const Words how = {"--prompt", "What is said?"};
  const Outcome heard = ask_salm(folder.path() / "a", with(how, {"--input", wav}));
  REQUIRE_MESSAGE(heard.exit_code == 0, heard.output);
  const Outcome listed =
      ask_salm(folder.path() / "b", with(how, {"--input", (folder.path() / "one.json").string()}));
  REQUIRE_MESSAGE(listed.exit_code == 0, listed.output);
  const json a = salm_lines(folder.path() / "a/answers.jsonl").at(0);
  const json b = salm_lines(folder.path() / "b/answers.jsonl").at(0);
  CHECK(a["id"] == wav);
  CHECK(a["tokens"] == b["tokens"]);
  CHECK_FALSE(b.contains("reference"));
  CHECK_FALSE(contains(listed.output, "WER"));
  const auto tokens_with = [&](const char* name, const Words& more) {
    const Outcome outcome = ask_salm(folder.path() / name, with({"--input", wav}, more));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return salm_lines(folder.path() / name / "answers.jsonl").at(0).at("tokens");
  };
  CHECK(tokens_with("c", {"--prompt", "What is said? <|audioplaceholder|>"}) == a["tokens"]);
  const json cut_off = tokens_with("d", with(how, {"--end-token", "<|im_start|>"}));
  CHECK(cut_off.size() <= a["tokens"].size());
}

TEST_CASE("what SALM cannot be asked ends in one message") {
  const TemporaryFolder folder;
  const std::string wav = reference_path("nemo_loader/wavs/a2.flac");
  const std::string turn = R"({"from": "User", "type": "audio", "value": ")" + wav + R"("}, )";
  const std::string two = (folder.path() / "two.jsonl").string();
  write_text(two, R"({"id": "two", "conversations": [)" + turn + turn +
                      R"({"from": "Assistant", "type": "text", "value": "yes"}]})");
  struct Case {
    Words words;
    int exit_code;
    std::string message;
  };
  for (const Case& mistake : std::vector<Case>{
           {{}, 2, "needs --input FILE, or --prompt TEXT"},
           {{"--input", wav, "--prompt", "a", "--prompt", "b"}, 2, "expected one for all"},
           {{"--input", wav, "--end-token", "no token"}, 2, "expected 1 token"},
           {{"--input", wav, "--normalizer", "german"}, 2, "--normalizer"},
           {{"--input", wav, "--system-prompt", "Be brief."}, 5, "[data/prompt-turns]"},
           {{"--input", two, "--prompt", "Say <|audioplaceholder|>"},
            5,
            "2 audios, and the user's"},
           {{"--prompt", "<|audioplaceholder|>"}, 5, "[data/prompt-turns]"},
           {{"--input", (folder.path() / "gone.jsonl").string()}, 5, "[data/missing-file]"},
           {{"model.prompt_format=chatml", "--input", wav}, 3, "[data/prompt-format]"}}) {
    const Outcome outcome = ask_salm(folder.path() / "out", mistake.words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == mistake.exit_code);
    CHECK(contains(outcome.output, mistake.message));
    CHECK_FALSE(contains(outcome.output, "[internal]"));
  }
}

TEST_CASE("adapters freeze SALM's language model, embedding and head, whatever patterns keep") {
  const TemporaryFolder folder;
  const Words kept = {kLora, R"(model.prevent_freeze_params=["^llm", "^embed_tokens", "^perc"])"};
  const Outcome outcome = train_salm(folder.path(), {}, kept);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  for (const std::string pattern : {"^llm", "^embed_tokens"}) {
    CHECK_MESSAGE(contains(outcome.output, "model.prevent_freeze_params: '" + pattern +
                                               "' has no effect: model.lora freezes"),
                  outcome.output);
  }
  CHECK_FALSE(contains(outcome.output, "'^perc' has no effect"));
  const auto moments = s2s::SafetensorsFile::open(
      (folder.path() / "run/checkpoints/last/optimizer.safetensors").string());
  bool has_perception = false;
  for (const auto& [name, entry] : moments.entries()) {
    has_perception = has_perception || name.starts_with("perception.");
    const bool is_of_llm = name.starts_with("llm.") || name.starts_with("embed_tokens");
    CHECK_MESSAGE((!is_of_llm || contains(name, ".lora_")), name);
  }
  CHECK(has_perception);
}
