#pragma once
// Small EAR-TTS models, built through the host, and batches for them.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/model.h"
#include "s2s/nn/weights.h"

// Shape letters: B batch, T frames, K books.

namespace s2s::test {

/// A model whose every part is there, and whose heads a tensor axis of 2 divides.
inline constexpr const char* kEarTts = R"({"name": "eartts", "backbone_type": "gemma3_text",
  "backbone_config": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
  "latent_size": 8, "codebook_size": 6, "num_quantizers": 4, "context_hidden_size": 5,
  "cas_config": {"backbone_type": "t5gemma", "backbone_config": {"encoder": {"hidden_size": 32,
    "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 8}}},
  "mog_head_config": {"intermediate_size": 24, "num_layers": 1, "low_rank": 2,
    "num_predictions": 3},
  "disable_eos_prediction": false, "random_target_masking": true,
  "pieces": ["<s>", "</s>", "<pad>", "a", "b", "c", "bad", "cab"],
  "tokens": {"bos": 0, "eos": 1, "pad": 2}})";

/// keys: JSON pairs that replace the small model's; null removes one.
inline std::unique_ptr<Model> make_eartts(const Registries& registries,
                                          const std::string& keys = "") {
  Config node = parse_json(kEarTts, "model");
  const Config changed = parse_json("{" + keys + "}", "model");
  for (const auto& [key, value] : changed.entries()) node[key] = value;
  ModelContext context;
  context.path = "model";
  auto model = registries.create<Model>(node, context);
  model->materialize(at::kCPU, at::kFloat, 3);
  const at::NoGradGuard no_grad;
  for (const NamedTensor& buffer : model->named_buffers()) {
    if (buffer.name != "rvq_embs") continue;  // the codec's; another part would set them
    buffer.tensor->copy_(at::arange(buffer.tensor->numel()).view(buffer.tensor->sizes()).sin());
  }
  return model;
}

/// The model with a codec of 40 samples a frame.
inline std::unique_ptr<Model> make_duplex_eartts(const Registries& registries,
                                                 const std::string& keys = "") {
  Config node = parse_json(R"({"name": "duplex_eartts", "codec": {"name": "rvq_vae",
      "sample_rate": 400, "latent_size": 8, "n_fft": 12, "hop_length": 4, "base_hidden_size": 4,
      "channel_mult": [1, 2], "rates": [2, 5], "num_blocks": 1, "kernel_size": 3,
      "codebook_size": 6, "num_quantizers": 4, "wav_to_token_ratio": 40},
    "prompt": {"audio_prompt_duration": 0.4, "num_delay_speech_tokens": 1},
    "text_embedding": {"vocab_size": 8}, "tokens": {"bos": 0, "eos": 1, "pad": 2}})",
                           "model");
  node["tts_config"] = parse_json(kEarTts, "model");
  node["pieces"] = *node.find_path("tts_config.pieces");
  for (const char* key : {"name", "pieces", "tokens"}) node["tts_config"].erase(key);
  const Config changed = parse_json("{" + keys + "}", "model");
  for (const auto& [key, value] : changed.entries()) node[key] = value;
  ModelContext context;
  context.path = "model";
  auto model = registries.create<Model>(node, context);
  model->materialize(at::kCPU, at::kFloat, 3);
  return model;
}

/// Two rows of an agent's speech with two turns each; the second row ends inside a frame.
inline Batch speech_batch(int64_t number, int64_t frames = 9) {
  at::manual_seed(static_cast<uint64_t>(number));
  const std::vector<int64_t> samples = {frames * 40, (frames - 2) * 40 - 15};
  Batch batch;
  batch.ids = {"cut " + std::to_string(2 * number), "cut " + std::to_string(2 * number + 1)};
  batch.target_audio_BS = at::randn({2, samples[0]}) * 2;
  batch.target_audio_BS[1].slice(0, samples[1]).zero_();
  batch.target_audio_lens_B = at::tensor(samples, at::kLong);
  batch.target_tokens_BT = at::randint(3, 8, {2, frames}, at::kLong);
  batch.target_tokens_BT[1].slice(0, frames - 2).fill_(2);
  batch.target_token_lens_B = at::tensor({frames, frames - 2}, at::kLong);
  const Turn user{false, 0.1, 0.4, "no"}, first{true, 0.0, 0.2, "bad"},
      second{true, 0.3, 0.8, "cab"};
  batch.turns = {{user, first, second}, {first, user}};
  return batch;
}

/// Two rows, the second one shorter.
inline Batch eartts_batch(int64_t number, int64_t width = 9) {
  at::manual_seed(static_cast<uint64_t>(number));
  const int64_t shorter = width - 2;
  Batch batch;
  batch.ids = {"cut " + std::to_string(2 * number), "cut " + std::to_string(2 * number + 1)};
  at::Tensor mask_BT = at::zeros({2, width}, at::kBool);
  mask_BT[0].slice(0, 3, width - 1).fill_(true);
  mask_BT[1].slice(0, 2, shorter - 1).fill_(true);
  batch.others["code"] = at::randint(6, {2, width, 4}, at::kLong);
  batch.others["audio_mask"] = mask_BT;
  batch.others["context_hidden_state"] = at::randn({2, width, 5});
  batch.others["subword_ids"] = at::randint(8, {2, width}, at::kLong);
  batch.others["subword_mask"] = mask_BT;
  return batch;
}

}  // namespace s2s::test
