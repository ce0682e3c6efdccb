#include "mimi_layers.h"

#include <ATen/ATen.h>

#include "s2s/nn/decoder.h"
#include "s2s/nn/transformer.h"

namespace s2s::mimi {
namespace {

at::Tensor linear(const at::Tensor& x, const StoredWeight& weight) {
  return at::linear(x, weight.value(),
                    weight.bias.defined() ? std::optional(weight.bias) : std::nullopt);
}

at::Tensor activated(const at::Tensor& x, const std::string& name) {
  if (name == "relu") return at::relu(x);
  if (name == "silu") return at::silu(x);
  return at::gelu(x, name == "gelu_new" ? "tanh" : "none");
}

}  // namespace

struct MimiTransformer::Layer : Block {
  explicit Layer(const MimiOptions& o)
      : norm({o.hidden_size}, 0, o.hidden_size),
        mlp_norm({o.hidden_size}, 0, o.hidden_size),
        q({o.num_attention_heads * o.width_of_head(), o.hidden_size}, o.hidden_size,
          o.attention_bias ? o.num_attention_heads * o.width_of_head() : 0),
        k({o.num_key_value_heads * o.width_of_head(), o.hidden_size}, o.hidden_size,
          o.attention_bias ? o.num_key_value_heads * o.width_of_head() : 0),
        v({o.num_key_value_heads * o.width_of_head(), o.hidden_size}, o.hidden_size,
          o.attention_bias ? o.num_key_value_heads * o.width_of_head() : 0),
        out({o.hidden_size, o.num_attention_heads * o.width_of_head()},
            o.num_attention_heads * o.width_of_head(), o.attention_bias ? o.hidden_size : 0),
        fc1({o.intermediate_size, o.hidden_size}, o.hidden_size, 0),
        fc2({o.hidden_size, o.intermediate_size}, o.intermediate_size, 0),
        scale({o.hidden_size}, 0, 0, {}, "scale"),
        mlp_scale({o.hidden_size}, 0, 0, {}, "scale") {
    register_block("input_layernorm", norm);
    register_block("self_attn.q_proj", q);
    register_block("self_attn.k_proj", k);
    register_block("self_attn.v_proj", v);
    register_block("self_attn.o_proj", out);
    register_block("self_attn_layer_scale", scale);
    register_block("post_attention_layernorm", mlp_norm);
    register_block("mlp.fc1", fc1);
    register_block("mlp.fc2", fc2);
    register_block("mlp_layer_scale", mlp_scale);
  }
  StoredWeight norm, mlp_norm, q, k, v, out, fc1, fc2, scale, mlp_scale;
};

MimiTransformer::MimiTransformer(const MimiOptions& options) : options_(options) {
  for (int64_t i = 0; i < options.num_hidden_layers; ++i) {
    layers_.push_back(std::make_unique<Layer>(options));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
}

MimiTransformer::~MimiTransformer() = default;

at::Tensor MimiTransformer::attend(const Layer& layer, const at::Tensor& x_BTH,
                                   const std::pair<at::Tensor, at::Tensor>& angles, int64_t begin,
                                   StreamState& state) const {
  const int64_t count = x_BTH.size(1), window = options_.sliding_window;
  const auto heads = [&](const StoredWeight& weight) {
    return to_heads(linear(x_BTH, weight), options_.width_of_head());
  };
  const at::Tensor q = rotate_halves(heads(layer.q), angles.first, angles.second);
  at::Tensor k = rotate_halves(heads(layer.k), angles.first, angles.second);
  at::Tensor v = heads(layer.v);
  at::Tensor& keys = state.kept(layer, 0);
  at::Tensor& values = state.kept(layer, 1);
  if (keys.defined()) {
    k = at::cat({keys, k}, 2);
    v = at::cat({values, v}, 2);
  }
  const int64_t kept = std::min(window - 1, k.size(2));
  keys = k.narrow(2, k.size(2) - kept, kept).clone();
  values = v.narrow(2, v.size(2) - kept, kept).clone();
  const int64_t first = begin + count - k.size(2);  // position of the oldest key
  const at::Tensor distance_QK = at::arange(begin, begin + count, x_BTH.device()).unsqueeze(1) -
                                 at::arange(first, begin + count, x_BTH.device()).unsqueeze(0);
  const at::Tensor sees_QK = distance_QK.ge(0).logical_and(distance_QK.lt(window));
  const int64_t groups = options_.num_attention_heads / options_.num_key_value_heads;
  if (groups > 1) {
    k = k.repeat_interleave(groups, 1);
    v = v.repeat_interleave(groups, 1);
  }
  const at::Tensor y = at::scaled_dot_product_attention(q, k, v, sees_QK);
  return linear(from_heads(y), layer.out);
}

at::Tensor MimiTransformer::push(const at::Tensor& x_BHT, StreamState& state) const {
  int64_t& begin = state.count(*this);
  const int64_t count = x_BHT.size(2);
  if (count == 0) return x_BHT;
  RotarySpec rotary;
  rotary.theta = options_.rope_theta;
  const at::Tensor inv_freq = rotary_inv_freq(rotary, options_.width_of_head()).to(x_BHT.device());
  const at::Tensor position_T1 = at::arange(begin, begin + count, x_BHT.options()).unsqueeze(1);
  const at::Tensor angle_TD = at::cat({position_T1 * inv_freq, position_T1 * inv_freq}, 1);
  const std::pair<at::Tensor, at::Tensor> angles = {angle_TD.cos(), angle_TD.sin()};
  at::Tensor x_BTH = x_BHT.transpose(1, 2);
  const auto normed = [&](const StoredWeight& norm) {
    return at::layer_norm(x_BTH, {options_.hidden_size}, norm.value(), norm.bias,
                          options_.norm_eps);
  };
  for (const auto& layer : layers_) {
    x_BTH =
        x_BTH + attend(*layer, normed(layer->norm), angles, begin, state) * layer->scale.value();
    const at::Tensor inner =
        activated(linear(normed(layer->mlp_norm), layer->fc1), options_.hidden_act);
    x_BTH = x_BTH + linear(inner, layer->fc2) * layer->mlp_scale.value();
  }
  begin += count;
  return x_BTH.transpose(1, 2);
}

}  // namespace s2s::mimi
