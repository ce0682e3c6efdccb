// generate --prompt of a model that speaks a given text.

#include <doctest/doctest.h>
#include <sndfile.h>

#include <algorithm>
#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int64_t kFrame = 1280;  // samples

/// A tiny EAR-TTS on the spoken set that all tests share.
constexpr const char* kConfig = R"(
model:
  type: duplex_eartts
  tokenizer:
    name: sentencepiece
    path: "${tiny.data}/tokenizer.model"
    train: { input: "${tiny.data}/texts.txt", model_type: word, vocab_size: 256 }
  tts_config:
    backbone_type: gemma3_text
    backbone_config: { hidden_size: 32, intermediate_size: 48, num_hidden_layers: 1,
      num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8 }
    latent_size: 8
    codebook_size: 16
    num_quantizers: 4
    context_hidden_size: 8
    cas_config: { backbone_type: t5gemma, backbone_config: { encoder: { hidden_size: 32,
      intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2,
      num_key_value_heads: 1, head_dim: 8 } } }
    mog_head_config: { intermediate_size: 24, num_layers: 1, low_rank: 2, num_predictions: 3 }
  codec: { name: rvq_vae, sample_rate: 16000, latent_size: 8, n_fft: 128, hop_length: 64,
    base_hidden_size: 4, channel_mult: [1, 2], rates: [4, 5], num_blocks: 1, kernel_size: 3,
    codebook_size: 16, num_quantizers: 4, wav_to_token_ratio: 1280 }
  prompt: { audio_prompt_duration: 0.8 }
  text_channel: { lead_frames: 3, frames_per_token: 2 }
  generation: { num_iter: 2 }
  optimizer: { name: adamw, lr: 1e-3 }
  lr_scheduler: { name: cosine_annealing, warmup_steps: 0, max_steps: 2 }
data:
  frame_length: 0.08
  source_sample_rate: 16000
  target_sample_rate: 16000
  input_roles: [user]
  output_roles: [agent]
  train_ds: { name: cuts, cuts_path: "${tiny.data}/train.jsonl", batch_size: 1, seed: 1 }
  validation_ds:
    name: cuts
    batch_size: 1
    datasets: { dev: { cuts_path: "${tiny.data}/dev.jsonl" } }
trainer: { accelerator: cpu, max_steps: 1, limit_val_batches: 1, seed: 1,
  strategy: { name: single } }
exp_manager: { explicit_log_dir: "${tiny.run}" }
)";

/// A run of one step.
const fs::path& trained() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const fs::path file = folder.path() / "config.yaml", run = folder.path() / "run";
    write_text(file, std::string(kConfig) + "tiny: { data: " + tiny_set().string() +
                         ", run: " + run.string() + " }\n");
    const Outcome outcome = run_s2s({"train", file.string()});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return run;
  }();
  return place;
}

std::string recording() { return (tiny_set() / "audio/dev/dev-000000_user.wav").string(); }

Outcome speak(const Words& more) {
  return run_s2s(with({"generate", "--checkpoint", trained().string()}, more));
}

std::vector<short> samples(const fs::path& wav) {
  SF_INFO info{};
  SNDFILE* const file = sf_open(wav.c_str(), SFM_READ, &info);
  REQUIRE(file != nullptr);
  CHECK(info.samplerate == 16000);
  std::vector<short> found(static_cast<size_t>(info.frames));
  CHECK(sf_read_short(file, found.data(), info.frames) == info.frames);
  sf_close(file);
  return found;
}

}  // namespace

TEST_CASE("prompts are spoken into WAV files, with the voice of the configuration") {
  const TemporaryFolder folder;
  const fs::path one = folder.path() / "one", again = folder.path() / "again";
  const Words prompts = {"model.inference_speaker_reference=" + recording(),
                         "--prompt",
                         "what is the time",
                         "--prompt",
                         "yes",
                         "--output"};
  for (const fs::path& output : {one, again}) {
    const Outcome outcome = speak(with(prompts, {output.string()}));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(contains(outcome.output, "speech: " + (output / "001.wav").string()));
  }
  const std::vector<short> first = samples(one / "000.wav"), second = samples(one / "001.wav");
  // Three silent frames, and two for each word and for the token that begins.
  CHECK(first.size() == (3 + 2 * (1 + 4)) * kFrame);
  CHECK(second.size() == (3 + 2 * (1 + 1)) * kFrame);
  CHECK(samples(again / "000.wav") == first);
  CHECK(*std::max_element(first.begin(), first.end()) > 100);
  std::ifstream lines(one / "answers.jsonl");
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line).at("prompt") == "what is the time");
  CHECK(json::parse(line).at("output") == "000.wav");
  CHECK(json::parse(line).at("seconds").get<double>() == doctest::Approx(13 * 0.08));
}

TEST_CASE("prompts that cannot be spoken end in one message") {
  const TemporaryFolder folder;
  const std::string output = folder.path().string();
  const Outcome nothing = speak({"--output", output});
  CHECK(nothing.exit_code == 2);
  CHECK(contains(nothing.output, "a model of type duplex_eartts needs --prompt TEXT"));
  const Outcome nowhere = speak({"--prompt", "yes"});
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "needs --output FOLDER"));
  const Outcome mute =
      speak({"model.inference_speaker_reference=gone.wav", "--prompt", "yes", "--output", output});
  CHECK(mute.exit_code == 5);
  CHECK_MESSAGE(contains(mute.output, "gone.wav"), mute.output);
}
