#pragma once
// Small SALM models, built through the host, and batches for them. Shape letters: A audios, S
// samples, T ids.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/batch.h"
#include "s2s/kinds/model.h"
#include "s2s/nn/weights.h"

namespace s2s::test {

inline constexpr int64_t kTag = 199;  // of a vocabulary of 200

inline constexpr const char* kSalm = R"({"name": "salm",
    "llm": {"name": "llama", "vocab_size": 200, "hidden_size": 32, "intermediate_size": 48,
            "tie_word_embeddings": TIED,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    "encoder": {"name": "fastconformer",
      "preprocessor": {"sample_rate": 16000, "features": 32, "normalize": "NA", "dither": 0.0},
      "encoder": {"feat_in": 32, "n_layers": 1, "d_model": 32, "n_heads": 4,
        "subsampling_conv_channels": 8, "ff_expansion_factor": 2, "conv_kernel_size": 5,
        "conv_norm_type": "layer_norm",
        "dropout": 0.0, "dropout_pre_encoder": 0.0, "dropout_emb": 0.0, "dropout_att": 0.0}},
    "tokens": {"audio_locator_tag": 199} KEYS})";

/// `keys`: more of the model's options, with a comma before them.
inline std::string salm_json(bool is_tied, const std::string& keys = "") {
  std::string json = kSalm;
  json.replace(json.find("TIED"), 4, is_tied ? "true" : "false");
  json.replace(json.find("KEYS"), 4, keys);
  return json;
}

inline std::unique_ptr<Model> make_salm(const Registries& registries, const std::string& json,
                                        const Tokenizer* tokenizer) {
  ModelContext context;
  context.path = "model";
  context.tokenizer = tokenizer;
  auto model = registries.create<Model>(parse_json(json, "model"), context);
  model->materialize(at::kCPU, at::kFloat, 3);
  return model;
}

/// A row: ids, kTag where an audio is; the last `num_answer` ids are the answer.
struct SalmRow {
  std::vector<int64_t> ids;
  int64_t num_answer = 1;
};

/// audio_lens: samples of all audios of the rows.
inline Batch salm_batch(const std::vector<SalmRow>& rows, const std::vector<int64_t>& audio_lens,
                        uint64_t seed = 5) {
  at::manual_seed(seed);
  int64_t width = 0, num_samples = 0;
  for (const SalmRow& row : rows) width = std::max(width, static_cast<int64_t>(row.ids.size()));
  for (const int64_t length : audio_lens) num_samples = std::max(num_samples, length);
  const auto num_rows = static_cast<int64_t>(rows.size());
  const auto num_audios = static_cast<int64_t>(audio_lens.size());
  Batch batch;
  at::Tensor& ids_BT = batch.others["input_ids"] = at::zeros({num_rows, width}, at::kLong);
  at::Tensor& mask_BT = batch.others["loss_mask"] = at::zeros({num_rows, width}, at::kBool);
  at::Tensor& audios_AS = batch.others["audios"] = at::randn({num_audios, num_samples}) * 0.1;
  batch.others["audio_lens"] = at::tensor(audio_lens, at::kLong);
  for (int64_t b = 0; b < num_rows; ++b) {
    const SalmRow& row = rows[static_cast<size_t>(b)];
    const auto length = static_cast<int64_t>(row.ids.size());
    ids_BT[b].narrow(0, width - length, length).copy_(at::tensor(row.ids, at::kLong));
    mask_BT[b].narrow(0, width - row.num_answer, row.num_answer).fill_(true);
    batch.ids.push_back("row");
  }
  for (int64_t a = 0; a < num_audios; ++a) {
    audios_AS[a].slice(0, audio_lens[static_cast<size_t>(a)]).zero_();
  }
  return batch;
}

}  // namespace s2s::test
