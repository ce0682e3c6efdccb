// checkpoint inspect, verify and import.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"
#include "compare/reference_file.h"
#include "core/weights/tar_file.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Outcome checkpoint(const std::string& command, const fs::path& path, const Words& more = {}) {
  Words words = {"checkpoint", command, path.string()};
  words.insert(words.end(), more.begin(), more.end());
  return run_s2s(words);
}

json parsed(const Outcome& outcome) {
  CAPTURE(outcome.output);
  REQUIRE(json::accept(outcome.output));
  return json::parse(outcome.output);
}

Words import_words(const fs::path& source, const fs::path& output, const Words& more = {}) {
  Words words = {"checkpoint", "import", source.string(), output.string()};
  Words config = tiny_words("--config", output.string() + ".run", more);
  words.insert(words.end(), config.begin(), config.end());
  return words;
}

/// The run's weights as NeMo's model names them: all but the codec, which is another.
s2s::TensorMap nemo_tensors() {
  s2s::TensorMap tensors;
  const auto from = weights(uninterrupted_run());
  for (const auto& [name, entry] : from.entries()) {
    if (!name.starts_with("audio_codec.")) tensors[name] = from.tensor(name).clone();
  }
  tensors["lm_head.weight"] = tensors.at("embed_tokens.weight");  // tied, and in the state dict
  tensors["audio_codec.decoder.weight"] = at::ones({2});
  return tensors;
}

/// NeMo's folder for Hugging Face's hub.
void write_nemo_folder(const fs::path& folder, const s2s::TensorMap& tensors) {
  fs::create_directories(folder);
  s2s::write_safetensors((folder / "model.safetensors").string(), tensors);
  write_text(folder / "config.json", R"({"model_type": "nemo_speechlm"})");
}

}  // namespace

TEST_CASE("inspect says what a checkpoint holds") {
  const fs::path path = uninterrupted_run() / "checkpoints/last";
  const Outcome text = checkpoint("inspect", path);
  CHECK(text.exit_code == 0);
  for (const char* part : {"checkpoint of s2s-run", "llama", "24", "llm.norm.weight", "[64]"}) {
    CHECK_MESSAGE(contains(text.output, part), part);
  }
  const json all = parsed(checkpoint("inspect", path, {"--json"}));
  CHECK(all["facts"]["step"] == "24");
  CHECK(all["facts"]["language model"] == "llama");
  int64_t bytes = 0;
  for (const json& tensor : all["tensors"]) bytes += tensor["bytes"].get<int64_t>();
  CHECK(all["bytes"] == bytes);
  CHECK(all["tensors"].size() == weights(uninterrupted_run()).entries().size());
}

TEST_CASE("inspect takes other software's files") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data/";
  const json torch = parsed(checkpoint("inspect", data + "torch_lightning.ckpt", {"--json"}));
  CHECK(torch["types"]["BF16"] == 1);
  const TemporaryFolder folder;
  const std::string archive = folder.write(
      "m.nemo", tar_entry("model_config.yaml", "target: nemo.collections.Some\n") +
                    tar_entry("model_weights.ckpt", read_text(data + "torch_state.bin")) +
                    tar_end());
  const json nemo = parsed(checkpoint("inspect", archive, {"--json"}));
  CHECK(nemo["kind"] == "NeMo archive");
  CHECK(nemo["facts"]["class"] == "nemo.collections.Some");
  CHECK(nemo["tensors"].size() == torch["tensors"].size());
  CHECK(parsed(checkpoint("inspect", data + "peft_lora", {"--json"}))["kind"] == "adapter (PEFT)");
}

TEST_CASE("a path that is no checkpoint is one message with the next step") {
  const Outcome none = checkpoint("inspect", "no/such/place");
  CHECK(none.exit_code == 5);
  CHECK(contains(none.output, "[weights/unreadable]"));
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "checkpoints");
  const Outcome empty = checkpoint("verify", folder.path());
  CHECK(empty.exit_code == 5);
  CHECK(contains(empty.output, "it is the folder of a run that has not written a checkpoint yet"));
}

TEST_CASE("a run whose last leads elsewhere is not followed") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "checkpoints");
  fs::create_symlink(uninterrupted_run() / "checkpoints/step=24",
                     folder.path() / "checkpoints/last");
  const Outcome followed = checkpoint("inspect", folder.path());
  CHECK(followed.exit_code == 5);
  CHECK_MESSAGE(contains(followed.output, "its `last` leads out of "), followed.output);
}

TEST_CASE("the folder of a run, or of its checkpoints, means its last checkpoint") {
  for (const fs::path& place : {uninterrupted_run(), uninterrupted_run() / "checkpoints"}) {
    const auto inspected = parsed(checkpoint("inspect", place, {"--json"}));
    CHECK(inspected["kind"] == "checkpoint of s2s-run");
    const Outcome verified = checkpoint("verify", place);
    CHECK(verified.exit_code == 0);
    CHECK_MESSAGE(contains(verified.output, "checkpoints/step=24: ok"), verified.output);
  }
}

TEST_CASE("verify passes what is whole and names everything that is not") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const fs::path path = run / "checkpoints/step=20";
  const json good = parsed(checkpoint("verify", path, {"--json"}));
  CHECK(good["ok"] == true);
  CHECK(good["files"] == 3);

  const std::string optimizer = read_text(path / "optimizer.safetensors");
  write_text(path / "optimizer.safetensors", optimizer.substr(0, optimizer.size() - 9));
  write_text(path / "manifest.json", "{");
  fs::remove(path / "random.safetensors");
  s2s::TensorMap tensors = nemo_tensors();
  tensors.at("audio_head.bias")[3] = std::nan("");
  s2s::write_safetensors((path / "model.safetensors").string(), tensors);
  const Outcome bad = checkpoint("verify", path);
  CHECK(bad.exit_code == 1);
  for (const char* part :
       {"4 findings", "optimizer.safetensors has changed since it was written: it has",
        "manifest.json has changed since it was written", "lacks random.safetensors",
        "model.safetensors has changed since it was written"}) {
    CHECK_MESSAGE(contains(bad.output, part), part << " in " << bad.output);
  }
  forget_checksums(path);
  const Outcome old = checkpoint("verify", path);
  CHECK(old.exit_code == 1);
  for (const char* part : {"4 findings", "optimizer.safetensors", "manifest.json' is not JSON",
                           "random.safetensors", "'audio_head.bias' is nan at [3]"}) {
    CHECK_MESSAGE(contains(old.output, part), part << " in " << old.output);
  }
}

TEST_CASE("a flipped byte in any file of a checkpoint is one finding, and is not loaded") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const fs::path path = run / "checkpoints/step=20";
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().filename().string(), whole = read_text(entry.path());
    std::string flipped = whole;
    flipped[whole.size() * 3 / 4] ^= 1;
    write_text(entry.path(), flipped);
    const Outcome bad = checkpoint("verify", path);
    CHECK_MESSAGE(bad.exit_code == 1, name);
    CHECK_MESSAGE(contains(bad.output, "1 finding;"), bad.output);
    CHECK_MESSAGE(contains(bad.output, name + " has changed since it was written"), bad.output);
    write_text(entry.path(), whole);
  }
  CHECK(checkpoint("verify", path).exit_code == 0);
  std::string model = read_text(path / "model.safetensors");
  model[model.size() / 2] ^= 1;
  write_text(path / "model.safetensors", model);
  const Outcome refused = run_s2s(tiny_words("train", run, eventful_options()));
  CHECK(refused.exit_code == 5);
  CHECK_MESSAGE(contains(refused.output, "[checkpoint/damaged]"), refused.output);
}

TEST_CASE("NeMo's weights become a checkpoint that generates and that a run begins with") {
  const TemporaryFolder folder;
  write_nemo_folder(folder.path() / "nemo", nemo_tensors());
  const fs::path output = folder.path() / "first";
  const Outcome made = run_s2s(import_words(folder.path() / "nemo", output));
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  CHECK(contains(made.output, "exp_manager.resume_from_checkpoint="));
  CHECK(checkpoint("verify", output).exit_code == 0);
  const auto ours = s2s::SafetensorsFile::open((output / "model.safetensors").string());
  for (const auto& [name, tensor] : nemo_tensors()) {
    if (name == "lm_head.weight" || name.starts_with("audio_codec.")) continue;
    CHECK_MESSAGE(ours.tensor(name).equal(tensor), name);
  }
  // It is a beginning: step 0, a fresh optimizer, the codec fitted to the data.
  const fs::path run = folder.path() / "run";
  const std::string log =
      train_tiny(run, {"exp_manager.resume_from_checkpoint=" + output.string(),
                       "trainer.max_steps=2", "model.lr_scheduler.warmup_steps=0"});
  CHECK(contains(log, "starting from the weights of " + output.string()));
  CHECK(num_steps_logged(run) == 2);
  const Outcome again = run_s2s(import_words(folder.path() / "nemo", output));
  CHECK(again.exit_code == 3);
  CHECK(contains(again.output, "[checkpoint/exists]"));
  CHECK(contains(again.output, "overwrite it with --force"));
  const Outcome forced = run_s2s(import_words(folder.path() / "nemo", output, {"--force"}));
  CHECK_MESSAGE(forced.exit_code == 0, forced.output);
  CHECK(checkpoint("verify", output).exit_code == 0);
  const Outcome foreign =
      run_s2s(import_words(folder.path() / "nemo", folder.path() / "nemo", {"--force"}));
  CHECK(foreign.exit_code == 3);
}

TEST_CASE("a state dict of NeMo's DuplexS2SModel fits the same sizes in our configuration") {
  const TemporaryFolder folder;
  const s2s::TensorMap tensors =
      s2s::read_reference(s2s::test::source_dir() +
                          "/tests/reference/data/nemo_duplex_full_identity_tied.safetensors")
          .weights;
  write_nemo_folder(folder.path() / "nemo", tensors);
  const std::string config = folder.write("nemo.yaml", R"(
model:
  type: duplex_s2s
  tokens: { bos: 1, eos: 2, pad: 0 }
  llm: { name: llama, vocab_size: 96, hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2,
         num_attention_heads: 4, head_dim: 8, rms_norm_eps: 1e-5, tie_word_embeddings: true }
  encoder:
    name: fastconformer
    preprocessor: { sample_rate: 16000, features: 32, window_size: 0.025, n_fft: 512 }
    encoder: { feat_in: 32, n_layers: 1, d_model: 16, subsampling: dw_striding,
               subsampling_factor: 8, subsampling_conv_channels: 12, causal_downsampling: false,
               ff_expansion_factor: 2, n_heads: 4, conv_kernel_size: 9,
               conv_norm_type: batch_norm }
  codec: { name: mel_fsq, sample_rate: 16000, num_groups: 4, levels: [4, 4] }
data: { frame_length: 0.08, source_sample_rate: 16000, target_sample_rate: 16000 }
)");
  const fs::path output = folder.path() / "first";
  const Outcome made = run_s2s({"checkpoint", "import", (folder.path() / "nemo").string(),
                                output.string(), "--config", config});
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  CHECK(contains(made.output, "the codec has no statistics yet"));
  const auto ours = s2s::SafetensorsFile::open((output / "model.safetensors").string());
  int64_t same = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == "_control_codes") continue;  // what the sizes say
    CHECK_MESSAGE(ours.tensor(name).equal(tensor), name);
    ++same;
  }
  CHECK(same == static_cast<int64_t>(tensors.size()) - 1);
}

TEST_CASE("a language model of Hugging Face is imported with the rest as it begins") {
  const TemporaryFolder folder;
  const fs::path hf = folder.path() / "hf", output = folder.path() / "first";
  REQUIRE(checkpoint("export", uninterrupted_run() / "checkpoints/last", {hf.string()}).exit_code ==
          0);
  const Outcome made = run_s2s(import_words(hf, output));
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const auto ours = s2s::SafetensorsFile::open((output / "model.safetensors").string());
  const auto from = weights(uninterrupted_run());
  CHECK(ours.tensor("llm.norm.weight").equal(from.tensor("llm.norm.weight")));
  CHECK(ours.tensor("embed_tokens.weight").equal(from.tensor("embed_tokens.weight")));
  CHECK_FALSE(ours.tensor("audio_head.weight").equal(from.tensor("audio_head.weight")));
}

TEST_CASE("a head of its own does not make a language model of Hugging Face a speech model") {
  const TemporaryFolder folder;
  const fs::path hf = folder.path() / "hf", output = folder.path() / "first";
  REQUIRE(checkpoint("export", uninterrupted_run() / "checkpoints/last", {hf.string()}).exit_code ==
          0);
  const std::string file = (hf / "model.safetensors").string();
  s2s::TensorMap tensors;  // copies: the file is written again
  for (const auto& [name, tensor] : s2s::SafetensorsFile::open(file).tensors("")) {
    tensors[name] = tensor.clone();
  }
  tensors["lm_head.weight"] = at::full_like(tensors.at("model.embed_tokens.weight"), 0.25);
  s2s::write_safetensors(file, tensors);
  auto config = nlohmann::json::parse(read_text(hf / "config.json"));
  config["tie_word_embeddings"] = false;
  write_text(hf / "config.json", config.dump());
  const Outcome made = run_s2s(import_words(hf, output, {"model.llm.tie_word_embeddings=false"}));
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const auto ours = s2s::SafetensorsFile::open((output / "model.safetensors").string());
  CHECK(ours.tensor("llm.norm.weight").equal(tensors.at("model.norm.weight")));
  CHECK(ours.tensor("lm_head.weight").equal(tensors.at("lm_head.weight")));
}

TEST_CASE(
    "weights that are not the configuration's model are one message, and nothing is written") {
  const TemporaryFolder folder;
  s2s::TensorMap tensors = nemo_tensors();
  tensors.erase("audio_head.bias");
  write_nemo_folder(folder.path() / "nemo", tensors);
  const fs::path output = folder.path() / "first";
  const Outcome lacks = run_s2s(import_words(folder.path() / "nemo", output));
  CHECK(lacks.exit_code == 5);
  CHECK(contains(lacks.output, "'audio_head.bias' is missing"));
  const Outcome sizes =
      run_s2s(import_words(folder.path() / "nemo", output, {"model.llm.hidden_size=32"}));
  CHECK(sizes.exit_code == 5);
  CHECK(contains(sizes.output, "'llm.norm.weight' has shape [64], expected [32]"));
  CHECK_FALSE(fs::exists(output));
  CHECK_FALSE(fs::exists(folder.path() / ".first.partial"));
}
