#include "s2s/nn/speech_encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "nn/speech/encoder_errors.h"

namespace s2s {

LayerOutputs::LayerOutputs(int64_t num_layers, std::string path)
    : num_layers_(num_layers), path_(std::move(path)) {}

void LayerOutputs::select(const std::vector<int64_t>& layers, bool final_output) {
  for (const int64_t layer : layers) {
    if (layer < -num_layers_ || layer >= num_layers_) {
      throw encoder_layers("layer " + std::to_string(layer) + " of " + path_,
                           "0 to " + std::to_string(num_layers_ - 1) + ", or -1 for the last one");
    }
    if (!selected_.insert(layer < 0 ? layer + num_layers_ : layer).second) {
      throw encoder_layers("layer " + std::to_string(layer) + " of " + path_ + ", asked twice",
                           "each layer once");
    }
  }
  if (layers.empty() && !final_output) throw encoder_layers("no output", "one or more");
  has_final_ = final_output;
}

int64_t LayerOutputs::count() const {
  return static_cast<int64_t>(selected_.size()) + (has_final_ ? 1 : 0);
}

int64_t LayerOutputs::num_computed() const {
  return has_final_ || selected_.empty() ? num_layers_ : *selected_.rbegin() + 1;
}

at::Tensor LayerOutputs::run(const at::Tensor& x_BTH, const Layer& layer, const Last& last,
                             const Last& tap) const {
  std::vector<at::Tensor> outputs;
  at::Tensor x = x_BTH;
  for (int64_t i = 0; i < num_computed(); ++i) {
    x = layer(i, x);
    if (selected_.contains(i)) outputs.push_back(tap ? tap(x) : x);
  }
  if (has_final_) outputs.push_back(last(x));
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs, -1);
}

void add_encoder_layers(const EncoderLayerSpec& spec, const std::string& path,
                        const MeshShape& mesh, ShardPlan& plan) {
  using enum Layout;
  const MultiHeadAttentionSpec& attention = spec.attention;
  const std::string layer = path + ".*.", heads = layer + spec.attention_name + ".";
  plan.units.push_back({path + ".*"});
  if (attention.num_heads % mesh.tensor != 0 || spec.inner_width % mesh.tensor != 0) {
    plan.rows.push_back({path + ".*"});
    return;
  }
  const TensorRow norm{layer + spec.attention_norm};
  if (spec.norm_first) plan.rows.push_back(norm);
  for (const std::string& name : {attention.query, attention.key, attention.value}) {
    plan.rows.push_back({heads + name, Style::kColwise, kFull, kLast});
  }
  plan.rows.push_back({heads + attention.out, Style::kRowwise, kLast, kFull});
  if (!spec.norm_first) plan.rows.push_back(norm);
  const TensorRow final_norm{layer + spec.final_norm};
  if (spec.norm_first) plan.rows.push_back(final_norm);
  plan.rows.push_back({layer + spec.inner, Style::kColwise, kFull, kLast});
  plan.rows.push_back({layer + spec.outer, Style::kRowwise, kLast, kFull});
  if (!spec.norm_first) plan.rows.push_back(final_norm);
  plan.attentions.push_back({layer + spec.attention_name, attention.num_heads, attention.num_heads,
                             attention.width / attention.num_heads});
}

double encoder_layers_flops(const EncoderLayerSpec& spec, int64_t num_layers, int64_t num_frames) {
  const auto width = static_cast<double>(spec.attention.width);
  const auto inner = static_cast<double>(spec.inner_width);
  const auto frames = static_cast<double>(num_frames);
  const double of_frame = 4 * width * width + 2 * width * inner + 2 * frames * width;
  return 2 * static_cast<double>(num_layers) * frames * of_frame;
}

at::Tensor sinusoid_positions(int64_t num_frames, int64_t width) {
  const int64_t half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<int64_t>(half - 1, 1));
  const at::Tensor rates = at::exp(at::arange(half, at::kFloat) * -step);
  const at::Tensor angles = at::arange(num_frames, at::kFloat).unsqueeze(1) * rates;
  return at::cat({angles.sin(), angles.cos()}, 1);
}

Error sees_all_frames(const std::string& path, const std::string& name) {
  return Error(ExitCode::kConfig, "encoder/not-streamable",
               path + ": " + name +
                   " cannot run on live audio because each frame sees later ones; expected an "
                   "encoder with a limited look-ahead; use one that has att_context_style, with "
                   "chunked_limited (s2s-run plugin list --kind encoder), or process whole files "
                   "without --stream");
}

Error encoder_sizes_error(const std::string& path, const std::string& problem) {
  return config_error("encoder/sizes", path + ": " + problem +
                                           "\n  expected: the sizes of a config.json of the model");
}

std::optional<Activation> activation_named(const std::string& name) {
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  return std::nullopt;
}

at::Tensor apply_activation(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
  }
  return x;
}

}  // namespace s2s
