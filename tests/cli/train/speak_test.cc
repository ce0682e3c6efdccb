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

constexpr int64_t kSpokenFrame = 1280;  // samples

/// A tiny EAR-TTS on the spoken set that all tests share.
constexpr const char* kSpeakingModel = R"(
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
)";

/// A run of one step.
const fs::path& trained_speaker() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const fs::path file = folder.path() / "config.yaml", run = folder.path() / "run";
    write_text(file, std::string(kSpeakingModel) + kOneStepOnTinySet + "tiny: { data: " +
                         tiny_set().string() + ", run: " + run.string() + " }\n");
    const Outcome outcome = run_s2s({"train", file.string()});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return run;
  }();
  return place;
}

std::string voice_file() { return (tiny_set() / "audio/dev/dev-000000_user.wav").string(); }

Outcome speak_prompts(const Words& more) {
  return run_s2s(with({"generate", "--checkpoint", trained_speaker().string()}, more));
}

std::vector<short> spoken_samples(const fs::path& wav) {
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
  const Words prompts = {"model.inference_speaker_reference=" + voice_file(),
                         "--prompt",
                         "what is the time",
                         "--prompt",
                         "yes",
                         "--output"};
  for (const fs::path& output : {one, again}) {
    const Outcome outcome = speak_prompts(with(prompts, {output.string()}));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(contains(outcome.output, "speech: " + (output / "001.wav").string()));
  }
  const std::vector<short> first = spoken_samples(one / "000.wav"),
                           second = spoken_samples(one / "001.wav");
  // Three silent frames, and two for each word and for the token that begins.
  CHECK(first.size() == (3 + 2 * (1 + 4)) * kSpokenFrame);
  CHECK(second.size() == (3 + 2 * (1 + 1)) * kSpokenFrame);
  CHECK(spoken_samples(again / "000.wav") == first);
  CHECK(*std::max_element(first.begin(), first.end()) > 100);
  std::ifstream lines(one / "answers.jsonl");
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line).at("prompt") == "what is the time");
  CHECK(json::parse(line).at("output") == "000.wav");
  CHECK(json::parse(line).at("seconds").get<double>() == doctest::Approx(13 * 0.08));
}

TEST_CASE("validation listens to the speech of the agent's texts, and to the reference") {
  const TemporaryFolder folder;
  const Outcome outcome = run_s2s(
      {"validate", "--checkpoint", trained_speaker().string(), "--limit-batches", "1", "--json",
       "--report", folder.path().string(), "model.scoring_asr={name: pocketsphinx}"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const size_t begin = outcome.output.find("\n{");
  const json set = json::parse(outcome.output.substr(begin)).at("sets").at("dev");
  for (const char* name : {"lm_loss", "c_loss", "asr_bleu", "asr_wer", "asr_cer"}) {
    CHECK_MESSAGE(set.contains(name), name);
  }
  CHECK(set.at("examples") == 1);
  CHECK(set.at("asr_wer_reference").get<double>() < set.at("asr_wer").get<double>());
  CHECK_FALSE(set.contains("txt_bleu"));  // it writes no text of its own
  CHECK(fs::exists(folder.path() / "wav"));
}

TEST_CASE("prompts that cannot be spoken end in one message") {
  const TemporaryFolder folder;
  const std::string output = folder.path().string();
  const Outcome nothing = speak_prompts({"--output", output});
  CHECK(nothing.exit_code == 2);
  CHECK(contains(nothing.output, "a model of type duplex_eartts needs --prompt TEXT"));
  const Outcome nowhere = speak_prompts({"--prompt", "yes"});
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "needs --output FOLDER"));
  const Outcome mute = speak_prompts(
      {"model.inference_speaker_reference=gone.wav", "--prompt", "yes", "--output", output});
  CHECK(mute.exit_code == 5);
  CHECK_MESSAGE(contains(mute.output, "gone.wav"), mute.output);
}
