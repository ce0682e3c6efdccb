#pragma once
// Small recognizers in training, built through the host, and batches for them. Shape letters: B
// rows, S samples.

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

inline constexpr const char* kAsr = R"({"name": "asr",
    "encoder": {"name": "fastconformer",
      "preprocessor": {"sample_rate": 16000, "features": 32, "normalize": "NA", "dither": 0.0},
      "encoder": {"feat_in": 32, "n_layers": 1, "d_model": 32, "n_heads": 4,
        "subsampling_conv_channels": 8, "ff_expansion_factor": 2, "conv_kernel_size": 5,
        "conv_norm_type": "layer_norm",
        "dropout": 0.0, "dropout_pre_encoder": 0.0, "dropout_emb": 0.0, "dropout_att": 0.0}},
    "transducer": {"pred_hidden": 16, "joint_hidden": 16 NETWORKS} KEYS})";

/// `networks`, `keys`: more options of the transducer and of the model, with a comma before them.
inline std::string asr_json(const std::string& networks = "", const std::string& keys = "") {
  std::string json = kAsr;
  json.replace(json.find("NETWORKS"), 8, networks);
  json.replace(json.find("KEYS"), 4, keys);
  return json;
}

inline std::unique_ptr<Model> make_asr(const Registries& registries, const std::string& json,
                                       const Tokenizer* tokenizer) {
  ModelContext context;
  context.path = "model";
  context.tokenizer = tokenizer;
  auto model = registries.create<Model>(parse_json(json, "model"), context);
  model->materialize(at::kCPU, at::kFloat, 3);
  return model;
}

/// A recording and what the user says in it.
struct SpokenRow {
  int64_t num_samples = 0;
  std::string text;
};

inline Batch asr_batch(const std::vector<SpokenRow>& rows, uint64_t seed = 5) {
  at::manual_seed(seed);
  int64_t longest = 0;
  std::vector<int64_t> lengths;
  Batch batch;
  for (const SpokenRow& row : rows) {
    lengths.push_back(row.num_samples);
    longest = std::max(longest, row.num_samples);
    batch.turns.push_back({{false, 0.0, 0.1, row.text}, {true, 0.1, 0.2, "not heard"}});
    batch.ids.push_back("row");
  }
  batch.source_audio_BS = at::randn({static_cast<int64_t>(rows.size()), longest}) * 0.1;
  batch.source_audio_lens_B = at::tensor(lengths, at::kLong);
  for (size_t b = 0; b < rows.size(); ++b) {
    batch.source_audio_BS[static_cast<int64_t>(b)].slice(0, lengths[b]).zero_();
  }
  return batch;
}

}  // namespace s2s::test
