#pragma once
// Options of model.speech_decoder, with NeMo's names.

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/options.h"

namespace s2s::duplex_s2s {

/// Names and, where NeMo's class has them, defaults of NeMo's TransformerARSpeechDecoder. Other
/// defaults are those of its example.
struct SpeechDecoderOptions {
  int64_t n_layers = 12;
  int64_t d_model = 768;
  int64_t d_ffn = 3072;
  int64_t sa_n_heads = 12;
  int64_t kernel_size = 3;
  double p_dropout = 0;
  double p_dropout_out = 0;
  bool apply_norm_out = false;
  bool use_learnable_pos_emb = false;
  int64_t max_length_causal_mask = 4096;
  bool cond_on_prev_audio_tokens = true;
  bool detach_input = false;
  std::optional<double> cfg_unconditional_prob;
  double cfg_scale = 2.5;
  // Options of NeMo's transformer. The decoder uses no cross-attention and no experts.
  bool has_xattn = false, is_causal = true, use_moe = false;
  bool apply_norm_to_cond = true, make_prior_window_strict = false;
  std::optional<int64_t> xa_d_memory, xa_n_heads, xa_d_head;

  /// True if the decoder also learns without its condition, for guided decoding.
  bool guides() const { return cfg_unconditional_prob.value_or(0) > 0; }

  void visit(OptionVisitor& v) {
    v("n_layers", n_layers, "transformer layers", at_least(1));
    v("d_model", d_model, "width; hidden states of another width are projected", at_least(1));
    v("d_ffn", d_ffn, "inner width of the convolutional feed-forward layers", at_least(1));
    v("sa_n_heads", sa_n_heads, "attention heads; must divide d_model", at_least(1));
    v("kernel_size", kernel_size, "frames that a feed-forward convolution sees, its own included",
      at_least(1));
    v("p_dropout", p_dropout, "dropout of the input, attention and feed-forward", between(0, 1));
    v("p_dropout_out", p_dropout_out, "dropout of the output", between(0, 1));
    v("apply_norm_out", apply_norm_out, "layer norm after the last layer");
    v("use_learnable_pos_emb", use_learnable_pos_emb, "add a learned embedding of the position");
    v("max_length_causal_mask", max_length_causal_mask, "frames of the longest conversation",
      at_least(1));
    v("cond_on_prev_audio_tokens", cond_on_prev_audio_tokens,
      "add the mean embedding of the previous frame's codes");
    v("detach_input", detach_input, "keep the audio loss from the language model");
    v("cfg_unconditional_prob", cfg_unconditional_prob,
      "chance of a training step without the hidden states (classifier-free guidance); null: no "
      "guidance",
      between(0, 1));
    v("cfg_scale", cfg_scale, "guidance in decoding: 1 is the decoder itself");
    v("has_xattn", has_xattn, "must be false: there is nothing to cross-attend to");
    v("is_causal", is_causal, "must be true: the decoder speaks frame by frame");
    v("use_moe", use_moe, "must be false: experts are not implemented");
    v("apply_norm_to_cond", apply_norm_to_cond, "NeMo's key; without effect");
    v("make_prior_window_strict", make_prior_window_strict, "NeMo's key; without effect");
    v("xa_d_memory", xa_d_memory, "NeMo's key; without effect");
    v("xa_n_heads", xa_n_heads, "NeMo's key; without effect");
    v("xa_d_head", xa_d_head, "NeMo's key; without effect");
  }

  /// Errors: [model/speech-decoder].
  void check() const;
};

}  // namespace s2s::duplex_s2s
