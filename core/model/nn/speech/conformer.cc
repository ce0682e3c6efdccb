#include "s2s/nn/conformer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <set>

#include "nn/speech/conformer_masks.h"
#include "nn/speech/conformer_parts.h"
#include "nn/speech/encoder_errors.h"

namespace s2s {

ConformerStream::~ConformerStream() = default;
ConformerEncoder::~ConformerEncoder() = default;

namespace {

StridingShape striding_shape(const ConformerOptions& o) {
  StridingShape shape;
  shape.feat_in = o.feat_in;
  shape.channels = o.subsampling_conv_channels < 0 ? o.d_model : o.subsampling_conv_channels;
  shape.d_model = o.d_model;
  shape.num_stages = static_cast<int64_t>(std::log2(static_cast<double>(o.subsampling_factor)));
  shape.causal = o.causal_downsampling;
  return shape;
}

/// A row per module that owns parameters, with the layers' numbers left open. A row stands for all
/// below its module, so modules inside another row's get none.
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
  if (options.subsampling_factor > 1) {
    parts.striding = std::make_unique<StridingSubsampling>(striding_shape(options));
    register_block("pre_encode", *parts.striding);
  } else {
    parts.linear = std::make_unique<Linear>(options.feat_in, options.d_model);
    register_block("pre_encode", *parts.linear);
  }
  for (int64_t i = 0; i < options.n_layers; ++i) {
    parts.layers.push_back(std::make_unique<ConformerLayer>(
        options, options.convolution_context(path), options.untie_biases ? nullptr : &parts.tied));
    register_block("layers." + std::to_string(i), *parts.layers.back());
  }
  if (options.feat_out > 0 && options.feat_out != options.d_model) {
    parts.out_proj = std::make_unique<Linear>(options.d_model, options.feat_out);
    register_block("out_proj", *parts.out_proj);
  }
  parts.plan = replicated_plan(*this);
}

int64_t ConformerEncoder::output_frames(int64_t num_frames) const {
  return parts_->striding ? parts_->striding->output_frames(num_frames) : num_frames;
}

int64_t ConformerEncoder::output_dim() const {
  return parts_->out_proj ? parts_->options.feat_out : parts_->options.d_model;
}

int64_t ConformerEncoder::subsampling_factor() const { return parts_->options.subsampling_factor; }

ShardPlan ConformerEncoder::configure_model() const { return parts_->plan; }

namespace {

/// The first pair of a list, except in training: then one at random, from torch's own generator.
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

/// True beyond each row's length, or undefined when no row ends early (known on the CPU only).
at::Tensor padding_of(const at::Tensor& lengths_B, int64_t width, at::Device device) {
  if (lengths_B.is_cpu() && lengths_B.numel() > 0 && lengths_B.min().item<int64_t>() >= width) {
    return {};
  }
  const at::Tensor range = at::arange(width, lengths_B.options());
  return (range.unsqueeze(0) >= lengths_B.unsqueeze(1)).unsqueeze(-1).to(device);
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

}  // namespace

/// The table of relative positions for so many frames; kept until the width changes.
const at::Tensor& ConformerEncoder::positions(int64_t num_frames) {
  at::Tensor& table = parts_->positions_PH;
  const at::Tensor& weight = parts_->first_weight();
  if (!table.defined() || table.size(0) != 2 * num_frames - 1 ||
      table.device() != weight.device() || table.scalar_type() != weight.scalar_type()) {
    table =
        relative_positions(num_frames - 1, 1 - num_frames, parts_->options.d_model, weight.device())
            .to(weight.scalar_type());
  }
  return table;
}

ConformerEncoder::Output ConformerEncoder::forward(const at::Tensor& x_BTF,
                                                   const at::Tensor& lengths_B) {
  Parts& parts = *parts_;
  const ConformerOptions& o = parts.options;
  at::Tensor x = x_BTF.to(parts.first_weight().scalar_type());
  at::Tensor lengths = lengths_B.to(at::kLong);
  if (parts.striding) {
    x = (*parts.striding)(x, lengths);
    lengths = parts.striding->output_frames(lengths);
  } else {
    x = (*parts.linear)(x);
  }
  if (o.xscaling) x = x * std::sqrt(static_cast<double>(o.d_model));
  if (o.dropout_pre_encoder > 0) x = at::dropout(x, o.dropout_pre_encoder, is_training());
  const int64_t frames = x.size(1);
  remember_visible(parts, choose_context(parts, is_training()), frames, x.device());
  FrameContext context{positions(frames), {}, padding_of(lengths, frames, x.device())};
  context.mask = score_mask(parts.visible_TT, context.padding_BT1, x.scalar_type());
  if (o.dropout_emb > 0) {
    context.positions_PH = at::dropout(context.positions_PH, o.dropout_emb, is_training());
  }
  for (const auto& layer : parts.layers) x = (*layer)(x, context);
  if (parts.out_proj) x = (*parts.out_proj)(x);
  return {x, lengths};
}

}  // namespace s2s
