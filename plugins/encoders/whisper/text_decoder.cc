#include "text_decoder.h"

#include <ATen/ATen.h>

#include <cmath>

#include "s2s/nn/speech_encoder.h"
#include "s2s/nn/weights.h"

namespace s2s::whisper {

/// Attention whose keys can be kept.
class KeptAttention final : public Block {
 public:
  KeptAttention(int64_t width, int64_t num_heads)
      : head_dim_(width / num_heads),
        query_(width, width),
        key_(width, width, /*bias=*/false),
        value_(width, width),
        out_(width, width) {
    register_block("q_proj", query_);
    register_block("k_proj", key_);
    register_block("v_proj", value_);
    register_block("out_proj", out_);
  }
  ~KeptAttention() override = default;

  SeenKeys keys(const at::Tensor& seen_BTH) {
    return {to_heads(key_(seen_BTH), head_dim_), to_heads(value_(seen_BTH), head_dim_)};
  }
  /// x [B, U, H]; causal: position i of x sees the first i + 1 keys.
  at::Tensor attend(const at::Tensor& x_BUH, const SeenKeys& seen, bool causal) {
    const at::Tensor q = to_heads(query_(x_BUH), head_dim_);
    return out_(from_heads(at::scaled_dot_product_attention(q, seen.k, seen.v, {}, 0, causal)));
  }
  /// The weights of one head, [B, U, T].
  at::Tensor weights(const at::Tensor& x_BUH, const SeenKeys& seen, int64_t head) {
    const double scale = 1 / std::sqrt(static_cast<double>(head_dim_));
    const at::Tensor q_BUD = to_heads(query_(x_BUH) * scale, head_dim_).select(1, head);
    return at::softmax(at::matmul(q_BUD, seen.k.select(1, head).transpose(1, 2)), -1, at::kFloat);
  }

 private:
  int64_t head_dim_;
  Linear query_, key_, value_, out_;
};

class TextDecoder::Layer : public Block {
 public:
  explicit Layer(const DecoderOptions& options)
      : activation_(options.activation),
        self_(options.d_model, options.decoder_attention_heads),
        cross_(options.d_model, options.decoder_attention_heads),
        self_norm_(options.d_model),
        cross_norm_(options.d_model),
        final_norm_(options.d_model),
        inner_(options.d_model, options.decoder_ffn_dim),
        outer_(options.decoder_ffn_dim, options.d_model) {
    register_block("self_attn", self_);
    register_block("self_attn_layer_norm", self_norm_);
    register_block("encoder_attn", cross_);
    register_block("encoder_attn_layer_norm", cross_norm_);
    register_block("fc1", inner_);
    register_block("fc2", outer_);
    register_block("final_layer_norm", final_norm_);
  }
  ~Layer() override = default;

  SeenKeys keys_of_frames(const at::Tensor& frames_BTH) { return cross_.keys(frames_BTH); }

  /// One step of layer `index`; `weights` [A] gets those of its heads that are asked for.
  at::Tensor step(const at::Tensor& x_BUH, int64_t index, DecoderMemory& memory,
                  const AlignmentHeads& heads, std::vector<at::Tensor>& weights) {
    const at::Tensor normed = self_norm_(x_BUH);
    const SeenKeys own = self_.keys(normed);
    const SeenKeys seen = memory.written->append(index, own.k, own.v).front();
    // The first step has several ids, and those after it one.
    const at::Tensor y = x_BUH + self_.attend(normed, seen, /*causal=*/x_BUH.size(1) > 1);
    const at::Tensor asking = cross_norm_(y);
    const SeenKeys& heard = memory.heard[static_cast<size_t>(index)];
    for (size_t i = 0; i < weights.size(); ++i) {
      if (heads[i].first == index) weights[i] = cross_.weights(asking, heard, heads[i].second);
    }
    const at::Tensor z = y + cross_.attend(asking, heard, /*causal=*/false);
    return z + outer_(apply_activation(inner_(final_norm_(z)), activation_));
  }

 private:
  Activation activation_;
  KeptAttention self_, cross_;
  LayerNorm self_norm_, cross_norm_, final_norm_;
  Linear inner_, outer_;
};

TextDecoder::TextDecoder(const DecoderOptions& options)
    : options_(options),
      embed_tokens_(options.vocab_size, options.d_model),
      embed_positions_(options.max_target_positions, options.d_model),
      norm_(options.d_model) {
  register_block("embed_tokens", embed_tokens_);
  register_block("embed_positions", embed_positions_);
  for (int64_t i = 0; i < options.decoder_layers; ++i) {
    layers_.push_back(std::make_unique<Layer>(options));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("layer_norm", norm_);
}

TextDecoder::~TextDecoder() = default;

DecoderMemory TextDecoder::listen(const at::Tensor& frames_BTH) {
  DecoderMemory memory;
  memory.written = std::make_unique<SequenceState>(options_.decoder_layers, frames_BTH.size(0));
  for (const auto& layer : layers_) memory.heard.push_back(layer->keys_of_frames(frames_BTH));
  return memory;
}

at::Tensor TextDecoder::next_scores(const at::Tensor& ids_BU, DecoderMemory& memory,
                                    const AlignmentHeads& heads, at::Tensor* weights) {
  const int64_t count = ids_BU.size(1), begin = memory.written->length();
  at::Tensor x_BUH =
      embed_tokens_(ids_BU) + embed_positions_.weight.narrow(0, begin, count).unsqueeze(0);
  std::vector<at::Tensor> found(weights == nullptr ? 0 : heads.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    x_BUH = layers_[i]->step(x_BUH, static_cast<int64_t>(i), memory, heads, found);
  }
  memory.written->advance(count);
  if (weights != nullptr) *weights = at::stack(found, 1);
  return at::linear(norm_(x_BUH), embed_tokens_.weight);
}

DecoderOptions read_decoder(const Config& model, const std::string& place) {
  DecoderOptions options;
  const auto read = [&](const char* key, int64_t& value) {
    const Config* const node = model.find(key);
    if (node == nullptr || node->is_null()) return;
    value = node->as_int(place + "." + key);
    if (value < 1) throw_unsupported_config(place, key, node->text(), "a number from 1 on");
  };
  read("d_model", options.d_model);
  read("decoder_layers", options.decoder_layers);
  read("decoder_attention_heads", options.decoder_attention_heads);
  read("decoder_ffn_dim", options.decoder_ffn_dim);
  read("vocab_size", options.vocab_size);
  read("max_target_positions", options.max_target_positions);
  if (options.d_model % options.decoder_attention_heads != 0) {
    throw_unsupported_config(place, "decoder_attention_heads",
                             std::to_string(options.decoder_attention_heads),
                             "a divisor of d_model " + std::to_string(options.d_model));
  }
  const Config* const tied = model.find("tie_word_embeddings");
  if (tied != nullptr && tied->text() == "false") {
    throw_unsupported_config(place, "tie_word_embeddings", "false", "true");
  }
  const Config* const activation = model.find("activation_function");
  if (activation != nullptr) {
    options.activation = activation_named(activation->text()).value_or(Activation::kGelu);
  }
  return options;
}

}  // namespace s2s::whisper
