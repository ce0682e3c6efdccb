#pragma once
// Small duplex models, built through the host, and batches for them.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/batch.h"
#include "s2s/error.h"
#include "s2s/kinds/model.h"
#include "s2s/nn/weights.h"

// Shape letters: B batch, S samples, T frames, K codebooks.

namespace s2s::test {

inline constexpr const char* kParts = R"("name": "duplex_s2s",
    "llm": {"name": "llama", "vocab_size": 200, "hidden_size": 32, "intermediate_size": 48,
            "tie_word_embeddings": TIED,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    "encoder": {"name": "fastconformer",
      "preprocessor": {"sample_rate": 16000, "features": 32, "normalize": "NA", "dither": 0.0},
      "encoder": {"feat_in": 32, "n_layers": 1, "d_model": 32, "n_heads": 4,
        "subsampling_conv_channels": 8, "ff_expansion_factor": 2, "conv_context_size": "causal",
        "conv_kernel_size": 5, "att_context_size": [16, 0], "att_context_style": "chunked_limited",
        "dropout": 0.0, "dropout_pre_encoder": 0.0, "dropout_emb": 0.0, "dropout_att": 0.0}})";
inline constexpr const char* kCodes = R"("codec": {"num_codebooks": 2, "codebook_size": 20})";
inline constexpr const char* kCodec = R"("codec": {"name": "mel_fsq", "sample_rate": 16000,
    "num_groups": 2, "decoder_iterations": 2})";
/// A small speech decoder of the model duplex_s2s_speech_decoder. It is guided in decoding, and no
/// training step is without its condition.
inline constexpr const char* kSpeechDecoder = R"("speech_decoder": {"n_layers": 2, "d_model": 24,
    "d_ffn": 40, "sa_n_heads": 3, "apply_norm_out": true, "use_learnable_pos_emb": true,
    "max_length_causal_mask": 40, "cfg_unconditional_prob": 1e-9, "cfg_scale": 1.5})";
/// Everything that the reference does not have.
inline constexpr const char* kExtras =
    R"("text_hold": true, "user_text": {"enabled": true, "copy": true})";
inline constexpr const char* kData =
    R"({"frame_length": 0.08, "source_sample_rate": 16000, "target_sample_rate": 16000})";

struct DuplexFixture {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;
  Config data = parse_json(kData, "data");
  std::vector<std::string> warnings;
  bool is_tied = false;  // the language model's head
  std::string type = "duplex_s2s";

  std::unique_ptr<Model> make(const std::string& keys, bool with_tokenizer = true) {
    ModelContext context;
    context.path = "model";
    context.data = &data;
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    context.tokenizer = with_tokenizer ? &tokenizer : nullptr;
    std::string text = std::string("{") + kParts + ", " + keys + "}";
    text.replace(text.find("TIED"), 4, is_tied ? "true" : "false");
    text.replace(text.find("duplex_s2s"), 10, type);
    auto model = plugins.create<Model>(parse_json(text, "test.json"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  }
  /// The model on given codes, with more keys.
  std::unique_ptr<Model> model(const std::string& keys = "") {
    return make(std::string(kCodes) + (keys.empty() ? "" : ", ") + keys);
  }
  std::string id_of_making(const std::string& keys, bool with_tokenizer = true) {
    try {
      make(keys, with_tokenizer);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

/// Rows of a batch on the 80 ms grid; frames beyond a row's length hold what must not count.
inline Batch make_batch(const std::vector<int64_t>& frames, uint64_t seed = 5) {
  at::manual_seed(seed);
  const auto rows = static_cast<int64_t>(frames.size());
  const int64_t width = *std::max_element(frames.begin(), frames.end());
  Batch batch;
  batch.source_audio_lens_B = at::tensor(frames, at::kLong) * 1280;
  batch.source_audio_BS = at::randn({rows, width * 1280}) * 0.1;
  batch.codes_BKT = at::randint(20, {rows, 2, width}, at::kLong);
  batch.code_lens_B = at::tensor(frames, at::kLong);
  batch.target_tokens_BT = at::zeros({rows, width}, at::kLong);
  batch.target_tokens_BT.slice(1, 1, 5) = at::tensor({1, 30, 40, 2}, at::kLong);
  batch.target_token_lens_B = batch.code_lens_B;
  batch.source_tokens_BT = at::zeros({rows, width}, at::kLong);
  batch.source_tokens_BT.slice(1, 2, 4) = at::tensor({50, 60}, at::kLong);
  batch.source_token_lens_B = batch.code_lens_B;
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t end = frames[static_cast<size_t>(b)];
    batch.source_audio_BS[b].slice(0, end * 1280).zero_();
    batch.ids.push_back("row");
  }
  return batch;
}

/// One row of a batch, cut to its length.
inline Batch row_of(const Batch& batch, int64_t b) {
  const int64_t frames = batch.code_lens_B[b].item<int64_t>();
  const auto cut = [&](const at::Tensor& x, int64_t dim, int64_t end) {
    return x.slice(0, b, b + 1).slice(dim, 0, end).clone();
  };
  Batch row = batch;
  row.source_audio_BS = cut(batch.source_audio_BS, 1, frames * 1280);
  row.codes_BKT = cut(batch.codes_BKT, 2, frames);
  row.target_tokens_BT = cut(batch.target_tokens_BT, 1, frames);
  row.source_tokens_BT = cut(batch.source_tokens_BT, 1, frames);
  for (at::Tensor* lens : {&row.source_audio_lens_B, &row.code_lens_B, &row.target_token_lens_B,
                           &row.source_token_lens_B}) {
    *lens = lens->slice(0, b, b + 1).clone();
  }
  row.ids = {"row"};
  return row;
}

inline std::map<std::string, double> losses(Model& model, const Batch& batch,
                                            const StepContext& context = {}) {
  model.train(true);
  const LossTerms terms = model.training_loss(batch, context);
  std::map<std::string, double> values{{"total", terms.total.item<double>()}};
  for (const auto& [name, value] : terms.parts) values[name] = value.item<double>();
  return values;
}

inline StepContext at_step(int64_t step, double loss_frames = 0) {
  StepContext context;
  context.step = step;
  context.loss_frames = loss_frames;
  return context;
}

inline doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-4); }

/// A gradient that is there and not all zero.
inline bool learns(Model& model, const std::string& prefix) {
  for (const NamedTensor& p : model.named_parameters()) {
    const at::Tensor& grad = p.tensor->grad();
    if (p.name.starts_with(prefix) && grad.defined() && grad.abs().max().item<double>() > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace s2s::test
