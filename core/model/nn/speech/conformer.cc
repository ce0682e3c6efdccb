// Shape letters: B batch, T frames, P positions, F features, H width.
#include "s2s/nn/conformer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "nn/speech/conformer_parts.h"
#include "nn/speech/conformer_stacking.h"
#include "nn/speech/encoder_errors.h"
#include "s2s/nn/rows.h"

namespace s2s {

ConformerEncoder::~ConformerEncoder() = default;

at::Tensor relative_positions(int64_t first, int64_t last, int64_t width, at::Device device) {
  constexpr double kLongestWave = 10000;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor positions = at::arange(first, last - 1, -1, options).unsqueeze(1);
  const at::Tensor rates = at::exp(at::arange(0, width, 2, options) *
                                   -(std::log(kLongestWave) / static_cast<double>(width)));
  const at::Tensor angles = positions * rates;
  return at::stack({angles.sin(), angles.cos()}, -1).view({positions.size(0), width});
}

int64_t ConformerEncoder::Parts::num_positions(int64_t num_frames) const {
  if (window) return window->positions();
  return is_relative() ? 2 * num_frames - 1 : num_frames;
}

at::Tensor ConformerEncoder::Parts::new_positions(int64_t num_frames, at::Device device) const {
  if (window) return window_positions(*window, options.d_model, device);
  const int64_t last = is_relative() ? 1 - num_frames : 0;
  const at::Tensor table = relative_positions(num_frames - 1, last, options.d_model, device);
  return is_relative() ? table : table.flip(0);
}

int64_t ConformerEncoder::Parts::seen_pairs(int64_t num_frames) const {
  if (!window) return num_frames * num_frames;
  const GlobalFrames global{options.global_tokens, options.global_tokens_spacing, {}, {}, {}};
  const int64_t with_global = 2 * global.among(num_frames);  // they see all, and all see them
  return num_frames * (std::min(window->positions(), num_frames) + with_global);
}

namespace {

constexpr double kMasked = -10000;  // as in NeMo; the weight is exactly zero after softmax

/// Returns true where a frame (row) sees another (column). Undefined if all frames see each other.
/// chunked: frames see their own chunk of right + 1 frames and the left / (right + 1) chunks before
/// it.
/// Shapes: [T, T] bool.
at::Tensor visible_frames(int64_t num_frames, ConformerOptions::Context context, bool chunked,
                          at::Device device) {
  const auto [left, right] = context;
  const bool whole_left = left < 0 || left >= num_frames;
  if (whole_left && (right < 0 || (!chunked && right >= num_frames))) return {};
  const int64_t chunk = chunked && right >= 0 ? right + 1 : 1;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor index = at::floor_divide(at::arange(num_frames, options), chunk);
  const at::Tensor back = index.unsqueeze(1) - index.unsqueeze(0);  // chunks to the left
  at::Tensor visible = at::ones_like(back, options.dtype(at::kBool));
  if (left >= 0) visible.logical_and_(back <= left / chunk);
  if (right >= 0) visible.logical_and_(back >= (chunked ? 0 : -right));
  return visible;
}

/// Returns the mask to add to attention scores: 0 for visible valid frames, -10000 elsewhere.
/// Shapes: visible [T, T] or undefined, padding [B, T, 1] bool or undefined -> [B or 1, T or 1, T],
/// undefined when both are.
at::Tensor score_mask(const at::Tensor& visible_TT, const at::Tensor& padding_BT1,
                      at::ScalarType type) {
  at::Tensor hidden;
  if (visible_TT.defined()) hidden = visible_TT.logical_not().unsqueeze(0);
  if (padding_BT1.defined()) {
    const at::Tensor keys_B1T = padding_BT1.transpose(1, 2);
    hidden = hidden.defined() ? hidden.logical_or(keys_B1T) : keys_B1T;
  }
  if (!hidden.defined()) return {};
  return at::zeros(hidden.sizes(), hidden.options().dtype(type)).masked_fill_(hidden, kMasked);
}

/// Returns one row per module that owns parameters, with `*` for layer numbers. A row includes the
/// modules below it, which get no separate rows.
ShardPlan replicated_plan(Block& block) {
  ShardPlan plan;
  std::set<std::string> owners;
  for (const NamedTensor& parameter : block.named_parameters()) {
    std::string module = parameter.name.substr(0, parameter.name.rfind('.'));
    if (module.rfind("layers.", 0) == 0) module = "layers.*" + module.substr(module.find('.', 7));
    owners.insert(module);
  }
  const auto covered = [&](std::string module) {
    for (size_t dot = module.rfind('.'); dot != std::string::npos; dot = module.rfind('.')) {
      module.resize(dot);
      if (owners.contains(module)) return true;
    }
    return false;
  };
  for (const std::string& module : owners) {
    if (!covered(module)) plan.rows.push_back({module});
  }
  plan.units = {{"pre_encode"}, {"layers.*"}};
  return plan;
}

}  // namespace

ConformerEncoder::ConformerEncoder(const ConformerOptions& options, const std::string& path)
    : parts_(std::make_unique<Parts>()) {
  options.check(path);
  Parts& parts = *parts_;
  parts.options = options;
  parts.path = path;
  parts.contexts = options.attention_contexts(path);
  if (options.self_attention_model == "rel_pos_local_attn") {
    parts.window = {parts.contexts[0][0], parts.contexts[0][1]};
  }
  if (options.subsampling_factor > 1) {
    parts.subsampling = make_subsampling(options);
    register_block("pre_encode", *parts.subsampling);
  } else {
    parts.linear = std::make_unique<Linear>(options.feat_in, options.d_model);
    register_block("pre_encode", *parts.linear);
  }
  for (int64_t i = 0; i < options.n_layers; ++i) {
    parts.layers.push_back(std::make_unique<ConformerLayer>(
        options, options.convolution_context(path), parts.is_tied() ? &parts.tied : nullptr));
    register_block("layers." + std::to_string(i), *parts.layers.back());
  }
  if (options.feat_out > 0 && options.feat_out != options.d_model) {
    parts.out_proj = std::make_unique<Linear>(options.d_model, options.feat_out);
    register_block("out_proj", *parts.out_proj);
  }
  parts.plan = replicated_plan(*this);
}

int64_t ConformerEncoder::output_frames(int64_t num_frames) const {
  return parts_->subsampling ? parts_->subsampling->output_frames(num_frames) : num_frames;
}

int64_t ConformerEncoder::output_dim() const {
  const int64_t width = parts_->out_proj ? parts_->options.feat_out : parts_->options.d_model;
  const auto layers = static_cast<int64_t>(parts_->selected.size());
  return width * (layers + (parts_->final_output ? 1 : 0));
}

void ConformerEncoder::select_outputs(const std::vector<int64_t>& layers, bool final_output) {
  Parts& parts = *parts_;
  const auto count = static_cast<int64_t>(parts.layers.size());
  for (const int64_t layer : layers) {
    if (layer < -count || layer >= count) {
      throw encoder_layers("layer " + std::to_string(layer) + " of " + parts.path,
                           "0 to " + std::to_string(count - 1) + ", or -1 for the last one");
    }
    const bool is_new = parts.selected.insert(layer < 0 ? layer + count : layer).second;
    if (!is_new) {
      throw encoder_layers("layer " + std::to_string(layer) + " of " + parts.path + ", asked twice",
                           "each layer once");
    }
  }
  if (layers.empty() && !final_output) throw encoder_layers("no output", "one or more");
  parts.final_output = final_output;
}

namespace {

ConformerEncoder::Parts::Matrices count_matrices(Block& encoder, bool is_subsampling) {
  ConformerEncoder::Parts::Matrices matrices;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    const std::string& name = parameter.name;
    if (parameter.sizes.size() < 2 || name.find("pos_bias") != std::string::npos) continue;
    if (is_subsampling && name.starts_with("pre_encode.")) continue;
    const bool is_of_positions = name.find("linear_pos.") != std::string::npos;
    (is_of_positions ? matrices.of_positions : matrices.of_frames) +=
        static_cast<double>(c10::multiply_integers(parameter.sizes));
  }
  return matrices;
}

}  // namespace

double ConformerEncoder::forward_flops(int64_t rows, int64_t num_frames) {
  Parts& parts = *parts_;
  if (!parts.matrices) parts.matrices = count_matrices(*this, parts.subsampling != nullptr);
  const int64_t frames = output_frames(num_frames);
  const auto positions = static_cast<double>(parts.num_positions(frames));  // shared by all rows
  // Scores of the contents, weighted values, and scores of relative positions.
  double scores = 2 * static_cast<double>(parts.seen_pairs(frames));
  if (parts.is_relative()) scores += static_cast<double>(frames) * positions;
  const double attention =
      scores * static_cast<double>(parts.options.d_model * parts.options.n_layers);
  const double row = 2 * (parts.matrices->of_frames * static_cast<double>(frames) + attention);
  const double subsampling = parts.subsampling ? parts.subsampling->forward_flops(num_frames) : 0;
  return static_cast<double>(rows) * (row + subsampling) +
         2 * parts.matrices->of_positions * positions;
}

int64_t ConformerEncoder::subsampling_factor() const { return parts_->options.subsampling_factor; }

ShardPlan ConformerEncoder::configure_model() const { return parts_->plan; }

namespace {

/// Returns the first context. In training, draws a random one from torch's default generator.
ConformerOptions::Context choose_context(const ConformerEncoder::Parts& parts, bool training) {
  if (!training || parts.contexts.size() < 2) return parts.contexts.front();
  const size_t count = parts.contexts.size();
  double left = at::rand({1}).item<double>();
  for (size_t i = 0; i + 1 < count; ++i) {
    const auto& given = parts.options.att_context_probs;
    left -= given.empty() ? 1.0 / static_cast<double>(count) : given[i];
    if (left < 0) return parts.contexts[i];
  }
  return parts.contexts.back();
}

/// Returns true beyond each row's length. Undefined when lengths_B is on the CPU and no row is
/// shorter than the width.
at::Tensor padding_of(const at::Tensor& lengths_B, int64_t width, at::Device device) {
  if (lengths_B.is_cpu() && lengths_B.numel() > 0 && lengths_B.min().item<int64_t>() >= width) {
    return {};
  }
  return length_mask(lengths_B, width).logical_not().unsqueeze(-1).to(device);
}

void remember_visible(ConformerEncoder::Parts& parts, ConformerOptions::Context context,
                      int64_t num_frames, at::Device device) {
  const at::Tensor& last = parts.visible_TT;
  if (last.defined() && last.size(0) == num_frames && last.device() == device &&
      parts.visible_context == context) {
    return;
  }
  const bool chunked = parts.options.att_context_style == "chunked_limited";
  parts.visible_TT = visible_frames(num_frames, context, chunked, device);
  parts.visible_context = context;
}

/// Scales the input, adds absolute positions, and completes what the blocks share.
at::Tensor prepared(ConformerEncoder::Parts& parts, at::Tensor x_BTH, FrameContext& context,
                    bool training) {
  const ConformerOptions& o = parts.options;
  if (o.xscaling) x_BTH = x_BTH * std::sqrt(static_cast<double>(o.d_model));
  if (!parts.is_relative()) x_BTH = x_BTH + context.positions_PH;
  const double dropout = parts.window ? o.dropout : o.dropout_pre_encoder;  // as in NeMo
  if (dropout > 0) x_BTH = at::dropout(x_BTH, dropout, training);
  const int64_t frames = x_BTH.size(1);
  if (parts.window) {
    context.mask = window_mask(*parts.window, frames, context.padding_BT1,
                               x_BTH.options().requires_grad(false));
  } else {
    remember_visible(parts, choose_context(parts, training), frames, x_BTH.device());
    context.mask = score_mask(parts.visible_TT, context.padding_BT1, x_BTH.scalar_type());
  }
  if (o.dropout_emb > 0 && parts.is_relative()) {
    context.positions_PH = at::dropout(context.positions_PH, o.dropout_emb, training);
  }
  return x_BTH;
}

}  // namespace

/// Returns the table of positions, cached until the number of frames changes.
const at::Tensor& ConformerEncoder::positions(int64_t num_frames) {
  at::Tensor& table = parts_->positions_PH;
  const at::Tensor& weight = parts_->first_weight();
  if (!table.defined() || table.size(0) != parts_->num_positions(num_frames) ||
      table.device() != weight.device() || table.scalar_type() != weight.scalar_type()) {
    table = parts_->new_positions(num_frames, weight.device()).to(weight.scalar_type());
  }
  return table;
}

ConformerEncoder::Output ConformerEncoder::forward(const at::Tensor& x_BTF,
                                                   const at::Tensor& lengths_B) {
  Parts& parts = *parts_;
  at::Tensor x = x_BTF.to(parts.first_weight().scalar_type());
  at::Tensor lengths = lengths_B.to(at::kLong);
  if (parts.subsampling) {
    x = (*parts.subsampling)(x, lengths);
    lengths = parts.subsampling->output_frames(lengths);
  } else {
    x = (*parts.linear)(x);
  }
  FrameContext context{positions(x.size(1)), {}, padding_of(lengths, x.size(1), x.device())};
  x = prepared(parts, x, context, is_training());
  x = parts.through_layers(
      x, [&](size_t i, const at::Tensor& given) { return (*parts.layers[i])(given, context); });
  return {x, lengths};
}

}  // namespace s2s
