#include <numeric>

#include "nn/speech/encoder_errors.h"
#include "s2s/nn/conformer.h"

namespace s2s {

void ConformerOptions::visit(OptionVisitor& v) {
  v("feat_in", feat_in, "input features (mel bands)", at_least(1));
  v("feat_out", feat_out, "output features; -1: d_model");
  v("n_layers", n_layers, "number of Conformer blocks", at_least(0));
  v("d_model", d_model, "width of the blocks", at_least(1));
  v("subsampling", subsampling,
    "type of subsampling: dw_striding, striding, stacking, stacking_norm or vggnet");
  v("subsampling_factor", subsampling_factor,
    "input frames per output frame; 1: a linear layer only", at_least(1));
  v("subsampling_conv_channels", subsampling_conv_channels,
    "channels of the subsampling; -1: d_model", at_least(-1));
  v("subsampling_conv_chunking_factor", subsampling_conv_chunking_factor, "accepted and ignored");
  v("causal_downsampling", causal_downsampling, "causal subsampling, without future frames");
  v("reduction", reduction, "second subsampling; only null");
  v("reduction_position", reduction_position, "accepted and ignored, because reduction is null");
  v("reduction_factor", reduction_factor, "accepted and ignored, because reduction is null");
  v("ff_expansion_factor", ff_expansion_factor, "feed-forward width divided by d_model",
    at_least(1));
  v("self_attention_model", self_attention_model,
    "rel_pos: relative positions; rel_pos_local_attn: the same for long recordings, in a window of "
    "att_context_size; abs_pos: positions are added to the input");
  v("n_heads", n_heads, "attention heads", at_least(1));
  v("att_context_size", att_context_size,
    "attention context [left, right] in frames, -1: all; or a list of pairs: one is drawn per "
    "step. rel_pos_local_attn: one pair without -1");
  v("att_context_probs", att_context_probs, "probabilities of the pairs; empty: equal",
    between(0, 1));
  v("att_chunk_context_size", att_chunk_context_size, "chunk sizes of attention; only null");
  v("att_context_style", att_context_style,
    "regular: a sliding window; chunked_limited: chunks of right + 1 frames. Not used by "
    "rel_pos_local_attn");
  v("xscaling", xscaling, "multiply the input by sqrt(d_model)");
  v("untie_biases", untie_biases,
    "separate position biases for each layer; false: one shared pair");
  v("pos_emb_max_len", pos_emb_max_len, "accepted and ignored: the length is not limited");
  v("conv_kernel_size", conv_kernel_size, "kernel of the depth-wise convolution in frames, odd",
    at_least(1));
  v("conv_norm_type", conv_norm_type, "batch_norm or layer_norm (stored as batch_norm)");
  v("conv_context_size", conv_context_size,
    "padding of the convolution: causal, or [left, right]; null: symmetric");
  v("conv_context_style", conv_context_style, "style of the convolution's context; only regular");
  v("use_bias", use_bias, "use biases in linear layers and convolutions of the blocks");
  v("dropout", dropout, "dropout probability in the blocks", between(0, 1));
  v("dropout_pre_encoder", dropout_pre_encoder, "dropout probability before the blocks",
    between(0, 1));
  v("dropout_emb", dropout_emb, "dropout probability of the position embeddings", between(0, 1));
  v("dropout_att", dropout_att, "dropout probability of the attention weights", between(0, 1));
  v("stochastic_depth_drop_prob", stochastic_depth_drop_prob,
    "probability of dropping a layer; only 0");
  v("stochastic_depth_mode", stochastic_depth_mode, "accepted and ignored");
  v("stochastic_depth_start_layer", stochastic_depth_start_layer, "accepted and ignored");
  v("global_tokens", global_tokens, "frames that see all, in rel_pos_local_attn", at_least(0));
  v("global_tokens_spacing", global_tokens_spacing, "one of so many frames is one of them",
    at_least(1));
  v("global_attn_separate", global_attn_separate, "separate queries, keys and values for them");
  v("use_pytorch_sdpa", use_pytorch_sdpa, "accepted and ignored");
  v("use_pytorch_sdpa_backends", use_pytorch_sdpa_backends, "accepted and ignored");
  v("sync_max_audio_length", sync_max_audio_length, "accepted and ignored");
}

namespace {

using Context = ConformerOptions::Context;

std::string text_of(const Config& node) {
  if (node.is_scalar()) return node.text();
  if (node.is_null()) return "null";
  std::string text;
  for (const Config& item : node.items()) text += (text.empty() ? "" : ", ") + text_of(item);
  return "[" + text + "]";
}

Context pair_of(const Config& node, const std::string& key) {
  if (!node.is_list() || node.items().size() != 2) {
    throw bad_encoder_value(key, text_of(node), "two whole numbers [left, right]");
  }
  return {node.items()[0].as_int(key + ".0"), node.items()[1].as_int(key + ".1")};
}

/// The left context must be a multiple of the chunk length.
void check_chunks(const Context& context, const std::string& key) {
  const std::string text =
      "[" + std::to_string(context[0]) + ", " + std::to_string(context[1]) + "]";
  if (context[1] < 0) {
    throw bad_encoder_value(key, text, "a right context of 0 or more for chunked_limited");
  }
  if (context[0] > 0 && context[0] % (context[1] + 1) != 0) {
    throw bad_encoder_value(key, text,
                            "a left context that is a multiple of the chunk, right + 1 = " +
                                std::to_string(context[1] + 1));
  }
}

/// Local attention has one window, with a limit on either side.
void check_window(const std::vector<Context>& contexts, const std::string& text,
                  const std::string& key) {
  const auto [left, right] = contexts.front();
  if (contexts.size() == 1 && left >= 0 && right >= 0 && left + right > 0) return;
  throw bad_encoder_value(
      key, text,
      "one pair for rel_pos_local_attn, such as [128, 128], neither below 0 and "
      "one above");
}

void check_supported(const ConformerOptions& o, const std::string& path) {
  const auto only = [&](const char* key, const std::string& value,
                        std::initializer_list<const char*> known) {
    std::string list;
    for (const char* good : known) {
      if (value == good) return;
      list += (list.empty() ? "" : " or ") + std::string(good);
    }
    throw unsupported_encoder_option(path + "." + key, value, list);
  };
  if (o.subsampling_factor > 1) {
    only("subsampling", o.subsampling,
         {"dw_striding", "striding", "stacking", "stacking_norm", "vggnet"});
  }
  if (o.reduction_factor > 1) only("reduction", o.reduction.value_or("null"), {"null"});
  only("self_attention_model", o.self_attention_model,
       {"rel_pos", "rel_pos_local_attn", "abs_pos"});
  only("att_context_style", o.att_context_style, {"regular", "chunked_limited"});
  only("att_chunk_context_size", text_of(o.att_chunk_context_size), {"null"});
  only("conv_norm_type", o.conv_norm_type, {"batch_norm", "layer_norm"});
  only("conv_context_style", o.conv_context_style, {"regular"});
  if (o.stochastic_depth_drop_prob != 0) {
    throw unsupported_encoder_option(path + ".stochastic_depth_drop_prob",
                                     std::to_string(o.stochastic_depth_drop_prob), "0");
  }
}

void check_sizes(const ConformerOptions& o, const std::string& path) {
  const auto text = [](int64_t value) { return std::to_string(value); };
  const bool is_stacking = o.subsampling.starts_with("stacking");
  if (!is_stacking && (o.subsampling_factor & (o.subsampling_factor - 1)) != 0) {
    throw bad_encoder_value(path + ".subsampling_factor", text(o.subsampling_factor),
                            "a power of two");
  }
  if (o.d_model % o.n_heads != 0 || o.d_model % 2 != 0) {
    throw bad_encoder_value(path + ".n_heads", text(o.n_heads),
                            "a divisor of d_model " + text(o.d_model) + ", which is even");
  }
  if (o.conv_kernel_size % 2 == 0) {
    throw bad_encoder_value(path + ".conv_kernel_size", text(o.conv_kernel_size), "an odd number");
  }
}

}  // namespace

void ConformerOptions::check(const std::string& path) const {
  check_supported(*this, path);
  check_sizes(*this, path);
  const auto contexts = attention_contexts(path);
  convolution_context(path);
  if (att_context_probs.empty()) return;
  const double sum = std::accumulate(att_context_probs.begin(), att_context_probs.end(), 0.0);
  if (att_context_probs.size() != contexts.size() || sum < 0.999 || sum > 1.001) {
    throw bad_encoder_value(
        path + ".att_context_probs",
        std::to_string(att_context_probs.size()) + " numbers of sum " + std::to_string(sum),
        std::to_string(contexts.size()) +
            " numbers of sum 1, one for each pair of att_context_size");
  }
}

std::vector<Context> ConformerOptions::attention_contexts(const std::string& path) const {
  const std::string key = path + ".att_context_size";
  std::vector<Context> contexts;
  const auto& items = att_context_size.items();
  if (att_context_size.is_null()) {
    contexts = {{-1, -1}};
  } else if (!items.empty() && items.front().is_list()) {
    for (size_t i = 0; i < items.size(); ++i) {
      contexts.push_back(pair_of(items[i], key + "." + std::to_string(i)));
    }
  } else {
    contexts.push_back(pair_of(att_context_size, key));
  }
  if (self_attention_model == "rel_pos_local_attn") {
    check_window(contexts, text_of(att_context_size), key);
    return contexts;
  }
  for (const Context& context : contexts) {
    if (att_context_style == "chunked_limited") check_chunks(context, key);
  }
  return contexts;
}

Context ConformerOptions::convolution_context(const std::string& path) const {
  const std::string key = path + ".conv_context_size";
  if (conv_context_size.is_null()) return {(conv_kernel_size - 1) / 2, (conv_kernel_size - 1) / 2};
  if (conv_context_size.is_scalar() && conv_context_size.text() == "causal") {
    return {conv_kernel_size - 1, 0};
  }
  const Context context = pair_of(conv_context_size, key);
  if (context[0] < 0 || context[1] < 0 || context[0] + context[1] + 1 != conv_kernel_size) {
    throw bad_encoder_value(key, text_of(conv_context_size),
                            "causal, or left and right whose sum is conv_kernel_size - 1 = " +
                                std::to_string(conv_kernel_size - 1));
  }
  return context;
}

}  // namespace s2s
