// Weight files and folders that cannot be what a configuration says they are, as a user meets them.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A Hugging Face folder of the tiny language model.
class Folder {
 public:
  Folder() {
    const Outcome made =
        run_s2s({"checkpoint", "export", (uninterrupted_run() / "checkpoints/last").string(),
                 path().string()});
    REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  }
  fs::path path() const { return folder_.path() / "hf"; }
  fs::path weights() const { return path() / "model.safetensors"; }
  fs::path config() const { return path() / "config.json"; }

  /// Trains with a family's plugin from this folder: one message, no run.
  void check_refused(int exit_code, const Words& parts, const std::string& family = "llama") const {
    const fs::path run = folder_.path() / "run";
    const Outcome outcome = run_s2s(tiny_words(
        "train", run, {"model.llm={name: " + family + ", path: '" + path().string() + "'}"}));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == exit_code);
    for (const std::string& part : parts) CHECK_MESSAGE(contains(outcome.output, part), part);
    const size_t first = outcome.output.find("error: [");
    REQUIRE(first != std::string::npos);
    CHECK(outcome.output.find("error: [", first + 1) == std::string::npos);
    CHECK_FALSE(fs::exists(run / "checkpoints"));
  }

 private:
  TemporaryFolder folder_;
};

/// Replaces the header, whatever the data then are.
std::string with_header(const std::string& file, const std::string& header) {
  uint64_t old = 0;
  for (size_t i = 8; i-- > 0;) old = old << 8U | static_cast<unsigned char>(file[i]);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFFU);
  return length + header + file.substr(8 + old);
}

json header_of(const std::string& file) {
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8U | static_cast<unsigned char>(file[i]);
  return json::parse(file.substr(8, length));
}

}  // namespace

TEST_CASE("safetensors files that are truncated, overlapping, oversized or lying") {
  const Folder folder;
  const std::string good = read_text(folder.weights());
  const std::string name = "model.norm.weight";
  const auto refused = [&](const std::string& bytes, const Words& parts) {
    write_text(folder.weights(), bytes);
    Words all = {"[weights/format]", "model.safetensors", "download or write it again"};
    all.insert(all.end(), parts.begin(), parts.end());
    folder.check_refused(5, all);
  };
  refused(good.substr(0, good.size() - 100), {"bytes of data, the file has"});
  refused(good.substr(0, 20), {"the header would be"});
  refused("", {"the file is empty"});
  json header = header_of(good);
  header[name]["data_offsets"][0] = header[name]["data_offsets"][0].get<int64_t>() - 4;
  header[name]["data_offsets"][1] = header[name]["data_offsets"][1].get<int64_t>() - 4;
  refused(with_header(good, header.dump()), {"follow each other without holes or overlaps"});
  header = header_of(good);
  header[name]["shape"] = {1000000};
  refused(with_header(good, header.dump()), {"'" + name + "'", "needs 4000000 bytes"});
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + good.substr(8),
          {"the header would be"});
}

TEST_CASE("a config.json without a key that is needed, or that is no JSON") {
  const Folder folder;
  json config = json::parse(read_text(folder.config()));
  config.erase("hidden_size");
  config.erase("num_attention_heads");
  write_text(folder.config(), config.dump());
  folder.check_refused(
      3, {"config.json", "'hidden_size' is missing", "'num_attention_heads' is missing"});
  write_text(folder.config(), "{\"model_type\": ");
  folder.check_refused(5, {"[weights/json]", "config.json"});
  fs::remove(folder.config());
  folder.check_refused(5, {"[weights/unreadable]", "config.json"});
}

TEST_CASE("an index that names files that are not there") {
  const Folder folder;
  const json index = {{"weight_map",
                       {{"model.norm.weight", "model-00001-of-00002.safetensors"},
                        {"lm_head.weight", "model.safetensors"}}}};
  write_text(folder.path() / "model.safetensors.index.json", index.dump());
  folder.check_refused(5, {"[weights/index]", "model-00001-of-00002.safetensors' is missing",
                           "has no tensor 'lm_head.weight'"});
}

TEST_CASE("a Hugging Face folder of another family") {
  const Folder folder;
  for (const char* family : {"gemma", "qwen"}) {
    folder.check_refused(3, {"[weights/config]", "'model_type' is 'llama'"}, family);
  }
  json config = json::parse(read_text(folder.config()));
  config["model_type"] = "qwen2";
  write_text(folder.config(), config.dump());
  folder.check_refused(3, {"'model_type' is 'qwen2'", "expected 'llama'"});
  // The right name over other tensors.
  folder.check_refused(
      5, {"[weights/mismatch]", "'model.layers.0.self_attn.q_proj.bias' is missing"}, "qwen");
}

TEST_CASE("a folder of a family that no plugin reads is named") {
  const Folder folder;
  json config = json::parse(read_text(folder.config()));
  config["model_type"] = "olmo2";
  write_text(folder.config(), config.dump());
  const TemporaryFolder parent;
  const std::string file = (parent.path() / "llm.yaml").string();
  write_text(file,
             "model:\n  llm: { path: " + fs::path(folder.config()).parent_path().string() + " }\n");
  for (const Words& words : {Words{"plan", file}, Words{"config", "check", file}}) {
    const Outcome outcome = run_s2s(words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 3);
    CHECK(contains(outcome.output, "its config.json says model_type 'olmo2'; no plugin reads it"));
    CHECK(contains(outcome.output, "there are gemma, llama"));
  }
}

TEST_CASE("a run folder of another model is named") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "used";
  copy_as_killed(uninterrupted_run(), run, 20);
  const Outcome outcome = run_s2s(tiny_words("train", run, {"model.llm.name=qwen"}));
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.output, "this run folder holds a run of another model ('llama')"));
  CHECK(contains(outcome.output, "choose another exp_manager.explicit_log_dir"));
}

TEST_CASE("a checkpoint of another family is refused even where the tensors are the same") {
  const TemporaryFolder folder;
  const fs::path checkpoint = uninterrupted_run() / "checkpoints/last";
  const std::string recording = (tiny_set() / "audio/dev/dev-000000_user.wav").string();
  for (const std::string family : {"gemma", "qwen", "tinyllama"}) {
    CAPTURE(family);
    Words words = tiny_words("generate", folder.path() / "run",
                             {"model.llm.name=" + family, "--checkpoint", checkpoint.string(),
                              "--input", recording, "--output", (folder.path() / "out").string()});
    if (family == "gemma") words.insert(words.begin() + 2, "model.llm.model_type=gemma");
    const Outcome outcome = run_s2s(words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 3);
    CHECK(contains(outcome.output, "[checkpoint/model]"));
    CHECK(contains(outcome.output, "model.llm.name is llama there and " + family + " here"));
    CHECK_FALSE(fs::exists(folder.path() / "out"));
  }
  const Outcome tokens = run_s2s(tiny_words(
      "validate", folder.path() / "run",
      {"~model.tokenizer.train", "model.tokenizer.name=hf", "--checkpoint", checkpoint.string()}));
  CHECK(tokens.exit_code == 3);
  CHECK_MESSAGE(contains(tokens.output, "model.tokenizer.name is sentencepiece there and hf here"),
                tokens.output);
  const fs::path run = folder.path() / "resumed";
  copy_as_killed(uninterrupted_run(), run, 20);
  Words resume = tiny_words("train", run, eventful_options());
  resume.push_back("model.llm.name=tinyllama");
  const Outcome outcome = run_s2s(resume);
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.output, "model.llm.name is llama there and tinyllama here"));
}
