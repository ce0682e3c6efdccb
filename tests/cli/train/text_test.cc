// A language model on text: training, validation, resume, answers to prompts.

#include <doctest/doctest.h>

#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Words of a run of configs/text.yaml in `folder`. All tests share its data.
Words text_words(const std::string& command, const fs::path& folder, const Words& more = {}) {
  static const TemporaryFolder data;
  Words words = {command,
                 source_dir() + "/configs/text.yaml",
                 "text.data=" + (data.path() / "text").string(),
                 "text.run=" + (folder / "run").string(),
                 "model.llm.num_hidden_layers=1",
                 "data.train_ds.batch_size=2",
                 "trainer.max_steps=4",
                 "model.lr_scheduler.warmup_steps=1",
                 "trainer.val_check_interval=4",
                 "exp_manager.checkpoint_callback_params.every_n_train_steps=2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

/// A run of four steps.
const fs::path& trained() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const Outcome outcome = run_s2s(text_words("train", folder.path()));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return folder.path() / "run";
  }();
  return place;
}

Outcome answer(const Words& more) {
  Words words = {"generate", "--checkpoint", trained().string(), "--max-new-tokens", "5"};
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(words);
}

}  // namespace

TEST_CASE("configs/text.yaml trains, and its validation has a perplexity") {
  const std::vector<json> lines = lines_of(trained() / "metrics.jsonl");
  REQUIRE(lines.size() == 5);
  CHECK(lines[3]["loss"].get<double>() < lines[0]["loss"].get<double>());
  CHECK(lines[0]["tokens"].get<int64_t>() > 100);
  const json& validation = lines[4];
  CHECK(validation["validation"] == "dev");
  CHECK(validation["perplexity"].get<double>() ==
        doctest::Approx(std::exp(validation["text_loss"].get<double>())));
}

TEST_CASE("a run of text that was killed goes on with the same batches and weights") {
  const TemporaryFolder folder;
  copy_as_killed(trained(), folder.path() / "run", 2);
  const Outcome rest = run_s2s(text_words("train", folder.path()));
  REQUIRE_MESSAGE(rest.exit_code == 0, rest.output);
  check_same_run(folder.path() / "run", trained());
}

TEST_CASE("prompts are answered, and each answer is a line") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "prompts.jsonl";
  std::ofstream(file) << "{\"prompt\": \"3 + 4 =\\n\"}\n\n{\"prompt\": \"My hat is gray.\"}\n";
  const std::string out = (folder.path() / "out").string();
  const Outcome outcome =
      answer({"--prompt", "one two", "--input", file.string(), "--output", out});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<json> lines = lines_of(fs::path(out) / "answers.jsonl");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["prompt"] == "one two");
  CHECK(lines[2]["prompt"] == "My hat is gray.");
  for (const json& line : lines) {
    CHECK(line["tokens"].size() <= 5);
    CHECK(line["ended"].get<bool>() == (line["tokens"].size() < 5));
  }
  CHECK(contains(outcome.output, "My hat is gray."));
  // One by one, the answers are the same.
  const std::string alone = (folder.path() / "alone").string();
  const Outcome again = answer(
      {"--prompt", "one two", "--input", file.string(), "--output", alone, "--batch-size", "1"});
  REQUIRE_MESSAGE(again.exit_code == 0, again.output);
  CHECK(lines_of(fs::path(alone) / "answers.jsonl") == lines);
}

TEST_CASE("prompts that cannot be answered end in one message") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "bad.jsonl").string();
  const auto found = [&](const std::string& text) {
    std::ofstream(file) << text;
    const Outcome outcome = answer({"--input", file});
    CHECK(outcome.exit_code == 5);
    return outcome.output;
  };
  CHECK(
      contains(found("{\"prompt\": \"a\"}\n{\"text\": \"b\"}\n"), "[data/prompt] " + file + ":2"));
  CHECK(contains(found("not JSON\n"), "[data/json] " + file + ":1"));
  CHECK(contains(found("\n"), "the file is empty"));
  const Outcome nothing = answer({});
  CHECK(nothing.exit_code == 2);
  CHECK(contains(nothing.output, "a model of type causal_lm needs --prompt TEXT"));
  // Options of generate that another kind of model has, or that name no token.
  const Outcome many = answer({"--prompt", "a", "--end-token", "no such token"});
  CHECK(many.exit_code == 2);
  CHECK(contains(many.output, "--end-token 'no such token' is"));
  const Outcome system = answer({"--prompt", "a", "--system-prompt", "b"});
  CHECK(system.exit_code == 2);
  CHECK(contains(system.output, "--system-prompt: a model of type causal_lm"));
  const Outcome gone = answer({"--input", (folder.path() / "gone.txt").string()});
  CHECK(gone.exit_code == 5);
  CHECK(contains(gone.output, "gone.txt: there is no such file"));
}

TEST_CASE("a user's message and chats are written by the chat template of the training data") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "chats.jsonl";
  std::ofstream(file) << "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\n";
  const std::string out = (folder.path() / "out").string();
  const Words words = {"data.train_ds.chat_template=chatml",
                       "--output",
                       out,
                       "--input",
                       file.string(),
                       "--prompt",
                       "Hi"};
  const Outcome refused = answer(Words(words.begin() + 1, words.end()));
  CHECK(refused.exit_code == 3);
  CHECK(contains(refused.output, "set chat_template: chatml"));
  Words chat = words;
  chat.push_back("--chat");
  const Outcome outcome = answer(chat);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<json> lines = lines_of(fs::path(out) / "answers.jsonl");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == lines[1]);
  CHECK(lines[0]["prompt"] == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("tune-batch finds the rows of text that train in the memory") {
  const TemporaryFolder folder;
  const auto tuned = [&](const Words& more) {
    Words words = text_words("tune-batch", folder.path(),
                             {"data.train_ds.max_seq_len=128", "--memory-limit", "600MB",
                              "--max-batch-size", "4", "-s", "4", "-t", "0.5"});
    words.insert(words.end(), more.begin(), more.end());
    return run_s2s(words);
  };
  const Outcome outcome = tuned({});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(contains(outcome.output, "128 tokens x 4 rows: trains"));
  CHECK(contains(outcome.output, "  max_seq_len: 128\n  batch_size: 4\n"));
  const Outcome refused = tuned({"--buckets", "[4]"});
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "data.train_ds.max_seq_len"));
}

// tests/reference/hf_chat.py: transformers' apply_chat_template and generate.
TEST_CASE("chats to a model of Hugging Face get the answers of transformers") {
  const fs::path hf = fs::path(source_dir()) / "tests/reference/data/hf_chat";
  const TemporaryFolder folder;
  const std::string path = hf.string();
  const std::string config = (folder.path() / "chat.yaml").string();
  std::ofstream(config) << "model: { type: causal_lm, llm: { path: " << path
                        << " }, tokenizer: { name: hf, path: " << path << " } }\n"
                        << "data: { train_ds: { name: text, path: none.jsonl } }\n"
                        << "trainer: { accelerator: cpu, precision: 32-true }\n";
  const std::string model = (folder.path() / "model").string();
  const Outcome made = run_s2s({"checkpoint", "import", path, model, "--config", config});
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const std::string out = (folder.path() / "out").string();
  const Outcome outcome =
      run_s2s({"generate", "--checkpoint", model, "--input", (hf / "chats.jsonl").string(),
               "--output", out, "--max-new-tokens", "24"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<json> lines = lines_of(fs::path(out) / "answers.jsonl");
  std::ifstream in(hf / "answers.json");
  const json golden = json::parse(in);
  REQUIRE(lines.size() == golden.size());
  for (size_t i = 0; i < golden.size(); ++i) {
    CHECK(lines[i]["prompt"] == golden[i]["prompt"]);
    CHECK(lines[i]["tokens"] == golden[i]["tokens"]);
    CHECK(lines[i]["ended"] == golden[i]["ended"]);
  }
}
