#include "mimi_layers.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "s2s/error.h"

namespace s2s::mimi {
namespace {

constexpr int64_t kNoPadding = 0;  // as a literal, 0 is also a null string

at::Tensor linear(const at::Tensor& x, const Weights& weights) {
  return at::linear(x, weights.value);
}

}  // namespace

Weights::Weights(const std::string& name, std::vector<int64_t> sizes, int64_t fan_in,
                 int64_t num_biases)
    : sizes_(std::move(sizes)), fan_in_(fan_in), num_biases_(num_biases) {
  register_buffer(name, value);
  if (num_biases_ > 0) register_buffer("bias", bias);
  Weights::reset_buffers();
}

Weights::~Weights() = default;

void Weights::reset_buffers() {
  if (fan_in_ == 0) {
    value = at::ones(sizes_, at::kFloat);
  } else {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in_));
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
    value = at::empty(sizes_, at::kFloat).uniform_(-bound, bound, generator);
  }
  if (num_biases_ > 0) bias = at::zeros({num_biases_}, at::kFloat);
}

CausalConv::CausalConv(const ConvSizes& sizes)
    : sizes_(sizes),
      conv_("weight", {sizes.outputs, sizes.inputs / sizes.groups, sizes.kernel},
            sizes.inputs / sizes.groups * sizes.kernel, sizes.has_bias ? sizes.outputs : 0) {
  register_block("conv", conv_);
}

CausalConv::~CausalConv() = default;

at::Tensor CausalConv::push(const at::Tensor& x_BCT, MimiState& state) const {
  S2S_ASSERT(x_BCT.size(2) % sizes_.stride == 0, "pieces are whole frames");
  const int64_t padding = (sizes_.kernel - 1) * sizes_.dilation + 1 - sizes_.stride;
  at::Tensor& past = state.pasts[this];
  if (!past.defined()) {
    past = sizes_.repeats_first
               ? x_BCT.narrow(2, 0, 1).expand({-1, -1, padding})
               : at::zeros({x_BCT.size(0), sizes_.inputs, padding}, x_BCT.options());
  }
  const at::Tensor seen = at::cat({past, x_BCT}, 2);
  past = seen.narrow(2, seen.size(2) - padding, padding).clone();
  return at::conv1d(seen, conv_.value, conv_.bias, sizes_.stride, at::IntArrayRef(kNoPadding),
                    sizes_.dilation, sizes_.groups);
}

CausalUpsampling::CausalUpsampling(const ConvSizes& sizes)
    : sizes_(sizes),
      conv_("weight", {sizes.inputs, sizes.outputs / sizes.groups, sizes.kernel},
            sizes.inputs / sizes.groups * sizes.kernel / sizes.stride,
            sizes.has_bias ? sizes.outputs : 0) {
  register_block("conv", conv_);
}

CausalUpsampling::~CausalUpsampling() = default;

at::Tensor CausalUpsampling::push(const at::Tensor& x_BCT, MimiState& state) const {
  const int64_t overlap = sizes_.kernel - sizes_.stride, width = x_BCT.size(2) * sizes_.stride;
  at::Tensor sum = at::conv_transpose1d(x_BCT, conv_.value, {}, sizes_.stride, 0, 0, sizes_.groups);
  at::Tensor& past = state.pasts[this];
  if (past.defined()) sum.narrow(2, 0, overlap).add_(past);
  past = sum.narrow(2, width, overlap).clone();
  const at::Tensor complete = sum.narrow(2, 0, width);
  return sizes_.has_bias ? complete + conv_.bias.view({1, -1, 1}) : complete;
}

ResidualBlock::ResidualBlock(const MimiOptions& options, int64_t channels, int64_t dilation)
    : first_({.inputs = channels,
              .outputs = channels / options.compress,
              .kernel = options.residual_kernel_size,
              .dilation = dilation}),
      second_({.inputs = channels / options.compress, .outputs = channels}) {
  register_block("block.1", first_);
  register_block("block.3", second_);
}

ResidualBlock::~ResidualBlock() = default;

at::Tensor ResidualBlock::push(const at::Tensor& x_BCT, MimiState& state) const {
  return x_BCT + second_.push(at::elu(first_.push(at::elu(x_BCT), state)), state);
}

struct MimiTransformer::Layer : Block {
  explicit Layer(const MimiOptions& o)
      : norm("weight", {o.hidden_size}, 0, o.hidden_size),
        mlp_norm("weight", {o.hidden_size}, 0, o.hidden_size),
        q("weight", {o.num_attention_heads * o.width_of_head(), o.hidden_size}, o.hidden_size, 0),
        k("weight", {o.num_key_value_heads * o.width_of_head(), o.hidden_size}, o.hidden_size, 0),
        v("weight", {o.num_key_value_heads * o.width_of_head(), o.hidden_size}, o.hidden_size, 0),
        out("weight", {o.hidden_size, o.num_attention_heads * o.width_of_head()},
            o.num_attention_heads * o.width_of_head(), 0),
        fc1("weight", {o.intermediate_size, o.hidden_size}, o.hidden_size, 0),
        fc2("weight", {o.hidden_size, o.intermediate_size}, o.intermediate_size, 0),
        scale("scale", {o.hidden_size}, 0, 0),
        mlp_scale("scale", {o.hidden_size}, 0, 0) {
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
  Weights norm, mlp_norm, q, k, v, out, fc1, fc2, scale, mlp_scale;
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
                                   MimiState& state) const {
  const int64_t count = x_BTH.size(1), window = options_.sliding_window;
  const auto heads = [&](const Weights& weights) {
    return linear(x_BTH, weights)
        .view({x_BTH.size(0), count, -1, options_.width_of_head()})
        .transpose(1, 2);
  };
  const auto rotated = [&](const at::Tensor& x_BNTD) {
    const auto halves = x_BNTD.chunk(2, -1);
    return x_BNTD * angles.first + at::cat({-halves[1], halves[0]}, -1) * angles.second;
  };
  const at::Tensor q = rotated(heads(layer.q));
  at::Tensor k = rotated(heads(layer.k)), v = heads(layer.v);
  auto& [keys, values] = state.caches[&layer];
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
  return linear(y.transpose(1, 2).reshape({x_BTH.size(0), count, -1}), layer.out);
}

at::Tensor MimiTransformer::push(const at::Tensor& x_BHT, MimiState& state) const {
  int64_t& begin = state.positions[this];
  const int64_t count = x_BHT.size(2);
  RotarySpec rotary;
  rotary.theta = options_.rope_theta;
  const at::Tensor inv_freq = rotary_inv_freq(rotary, options_.width_of_head()).to(x_BHT.device());
  const at::Tensor position_T1 = at::arange(begin, begin + count, x_BHT.options()).unsqueeze(1);
  const at::Tensor angle_TD = at::cat({position_T1 * inv_freq, position_T1 * inv_freq}, 1);
  const std::pair<at::Tensor, at::Tensor> angles = {angle_TD.cos(), angle_TD.sin()};
  at::Tensor x_BTH = x_BHT.transpose(1, 2);
  const auto normed = [&](const Weights& norm) {
    return at::layer_norm(x_BTH, {options_.hidden_size}, norm.value, norm.bias, options_.norm_eps);
  };
  for (const auto& layer : layers_) {
    x_BTH = x_BTH + attend(*layer, normed(layer->norm), angles, begin, state) * layer->scale.value;
    const at::Tensor inner = at::gelu(linear(normed(layer->mlp_norm), layer->fc1));
    x_BTH = x_BTH + linear(inner, layer->fc2) * layer->mlp_scale.value;
  }
  begin += count;
  return x_BTH.transpose(1, 2);
}

}  // namespace s2s::mimi
