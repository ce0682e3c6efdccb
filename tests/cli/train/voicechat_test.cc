// nemotron_voicechat: weights of NeMo in, and answers in speech to recordings.

#include <doctest/doctest.h>
#include <sndfile.h>

#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The contents of braces.
constexpr const char* kOneStep = R"(
  tokenizer: { name: sentencepiece, path: "${tiny.data}/tokenizer.model",
    train: { input: "${tiny.data}/texts.txt", model_type: word, vocab_size: 256 } },
  optimizer: { name: adamw, lr: 1e-3 },
  lr_scheduler: { name: cosine_annealing, warmup_steps: 0, max_steps: 2 },
)";

constexpr const char* kListener = R"(
  llm: { name: llama, vocab_size: 256, hidden_size: 32, intermediate_size: 48,
    num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 1,
    max_position_embeddings: 512, tie_word_embeddings: true },
  encoder: { name: fastconformer,
    preprocessor: { sample_rate: 16000, features: 32, window_size: 0.025, n_fft: 512,
      normalize: NA, dither: 0.0, pad_to: 0 },
    encoder: { feat_in: 32, n_layers: 1, d_model: 32, subsampling: dw_striding,
      subsampling_factor: 8, subsampling_conv_channels: 8, causal_downsampling: true,
      ff_expansion_factor: 2, n_heads: 2, att_context_size: [16, 0],
      att_context_style: chunked_limited, conv_kernel_size: 5, conv_norm_type: layer_norm,
      conv_context_size: causal, xscaling: false, dropout: 0.0, dropout_pre_encoder: 0.0,
      dropout_emb: 0.0, dropout_att: 0.0 } } )";

constexpr const char* kSpeaker = R"(
  tts_config: { backbone_type: gemma3_text,
    backbone_config: { hidden_size: 32, intermediate_size: 48, num_hidden_layers: 1,
      num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8 },
    latent_size: 8, codebook_size: 16, num_quantizers: 4,
    cas_config: { backbone_type: t5gemma, backbone_config: { encoder: { hidden_size: 32,
      intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2,
      num_key_value_heads: 1, head_dim: 8 } } },
    mog_head_config: { intermediate_size: 24, num_layers: 1, low_rank: 2, num_predictions: 3 } },
  codec: { name: rvq_vae, sample_rate: 16000, latent_size: 8, n_fft: 128, hop_length: 64,
    base_hidden_size: 4, channel_mult: [1, 2], rates: [4, 5], num_blocks: 1, kernel_size: 3,
    codebook_size: 16, num_quantizers: 4, wav_to_token_ratio: 1280 },
  prompt: { audio_prompt_duration: 0.8 },
  generation: { num_iter: 2 } )";

std::string spoken_config(const std::string& type, const std::string& block) {
  return "model: { type: " + type + "," + kOneStep + block + "}\n" + kOneStepOnTinySet;
}

struct VoiceChat {
  TemporaryFolder folder;

  std::string file(const std::string& name, const std::string& text) const {
    const fs::path path = folder.path() / (name + ".yaml");
    write_text(path, text + "tiny: { data: " + tiny_set().string() +
                         ", run: " + (folder.path() / name).string() + " }\n");
    return path.string();
  }
  std::string config() const {
    return file("joined",
                spoken_config("nemotron_voicechat", "stt: { model: {" + std::string(kListener) +
                                                        "} }, speech_generation: { model: {" +
                                                        kSpeaker + "} }"));
  }
  /// A file of NeMo's names: both parts after one step of training.
  std::string weights_file() const {
    s2s::TensorMap all;
    for (const auto& [type, block, prefix] :
         {std::tuple("duplex_stt", kListener, "stt_model."),
          std::tuple("duplex_eartts", kSpeaker, "tts_model.")}) {
      const Outcome outcome = run_s2s({"train", file(type, spoken_config(type, block))});
      REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
      for (const auto& [ours, tensor] : weights(folder.path() / type).tensors()) {
        std::string name = prefix + ours;
        const size_t marks = name.find(".marks.");
        if (marks != std::string::npos) name.erase(marks, std::string(".marks").size());
        all[name] = tensor;
      }
    }
    const std::string path = (folder.path() / "nemo.safetensors").string();
    s2s::write_safetensors(path, all);
    return path;
  }
};

json first_answer(const fs::path& folder) {
  std::ifstream in(folder / "answers.jsonl");
  std::string line;
  REQUIRE(std::getline(in, line));
  return json::parse(line);
}

int64_t num_chat_samples(const fs::path& wav) {
  SF_INFO info{};
  SNDFILE* const file = sf_open(wav.c_str(), SFM_READ, &info);
  REQUIRE(file != nullptr);
  sf_close(file);
  return info.frames;
}

}  // namespace

TEST_CASE("voice chat: weights in NeMo's names come in, recordings are answered, live too") {
  const VoiceChat joined;
  const std::string config = joined.config(), place = (joined.folder.path() / "first").string();
  const Outcome imported =
      run_s2s({"checkpoint", "import", joined.weights_file(), place, "--config", config});
  REQUIRE_MESSAGE(imported.exit_code == 0, imported.output);
  const std::string heard = (tiny_set() / "audio/dev/dev-000000_user.wav").string();
  const auto answer = [&](const std::string& name, const Words& more) {
    const fs::path output = joined.folder.path() / name;
    const Outcome outcome = run_s2s(with(
        {"generate", config, "--checkpoint", place, "--input", heard, "--output", output.string()},
        more));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return first_answer(output);
  };
  const json whole = answer("whole", {}), live = answer("live", {"--stream"});
  CHECK(whole.at("text_tokens").size() > 10);
  CHECK(live.at("text_tokens") == whole.at("text_tokens"));
  CHECK(live.at("audio_tokens") == whole.at("audio_tokens"));
  const auto samples = static_cast<int64_t>(whole.at("text_tokens").size()) * 1280;
  for (const char* name : {"whole", "live"}) {
    CHECK(num_chat_samples(joined.folder.path() / name / whole.at("output").get<std::string>()) ==
          samples);
  }
  const Outcome training = run_s2s({"train", config});
  CHECK(training.exit_code == 3);
  CHECK_MESSAGE(contains(training.output, "[voicechat/training]"), training.output);
}
