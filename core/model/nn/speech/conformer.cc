// Shape letters: B batch, T frames, P = 2 T - 1 relative positions, F features, H width.
#include "s2s/nn/conformer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "nn/speech/conformer_layer.h"
#include "nn/speech/encoder_errors.h"

namespace s2s {

struct ConformerEncoder::Parts {
  ConformerOptions options;
  std::string path;
  std::vector<ConformerOptions::Context> contexts;
  std::unique_ptr<Linear> linear;  // either linear or striding is set
  std::unique_ptr<StridingSubsampling> striding;
  std::vector<std::unique_ptr<ConformerLayer>> layers;
  std::unique_ptr<Linear> out_proj;  // null without an output projection
  PositionBiases tied;
  ShardPlan plan;
  at::Tensor visible_TT, positions_PH;  // cached for the last shape
  ConformerOptions::Context visible_context{-1, -1};
  /// Elements of the matrices that every frame, and every relative position, is multiplied with.
  struct Matrices {
    double of_frames = 0, of_positions = 0;
  };
  std::optional<Matrices> matrices;  // counted at the first use

  const at::Tensor& first_weight() const { return striding ? striding->weight() : linear->weight; }
};

ConformerStream::~ConformerStream() = default;
ConformerEncoder::~ConformerEncoder() = default;

namespace {

constexpr double kMasked = -10000;  // as in NeMo; the weight is exactly zero after softmax
constexpr double kLongestWave = 10000;

/// The sinusoids of the relative positions from `first` down to `last`, inclusive, in float32.
/// Shapes: [first - last + 1, width].   Source: NeMo, RelPositionalEncoding.
at::Tensor relative_positions(int64_t first, int64_t last, int64_t width, at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor positions = at::arange(first, last - 1, -1, options).unsqueeze(1);
  const at::Tensor rates = at::exp(at::arange(0, width, 2, options) *
                                   -(std::log(kLongestWave) / static_cast<double>(width)));
  const at::Tensor angles = positions * rates;
  return at::stack({angles.sin(), angles.cos()}, -1).view({positions.size(0), width});
}

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

StridingShape striding_shape(const ConformerOptions& o) {
  StridingShape shape;
  shape.feat_in = o.feat_in;
  shape.channels = o.subsampling_conv_channels < 0 ? o.d_model : o.subsampling_conv_channels;
  shape.d_model = o.d_model;
  shape.num_stages = static_cast<int64_t>(std::log2(static_cast<double>(o.subsampling_factor)));
  shape.causal = o.causal_downsampling;
  return shape;
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

namespace {

ConformerEncoder::Parts::Matrices count_matrices(Block& encoder, bool is_striding) {
  ConformerEncoder::Parts::Matrices matrices;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    const std::string& name = parameter.name;
    if (parameter.sizes.size() < 2 || name.find("pos_bias") != std::string::npos) continue;
    if (is_striding && name.starts_with("pre_encode.")) continue;
    const bool is_of_positions = name.find("linear_pos.") != std::string::npos;
    (is_of_positions ? matrices.of_positions : matrices.of_frames) +=
        static_cast<double>(c10::multiply_integers(parameter.sizes));
  }
  return matrices;
}

}  // namespace

double ConformerEncoder::forward_flops(int64_t rows, int64_t num_frames) {
  Parts& parts = *parts_;
  if (!parts.matrices) parts.matrices = count_matrices(*this, parts.striding != nullptr);
  const auto frames = static_cast<double>(output_frames(num_frames));
  const double positions = 2 * frames - 1;  // relative ones, shared by all rows
  // Scores of the contents and of the positions, and the weighted values.
  const double attention = frames * (2 * frames + positions) *
                           static_cast<double>(parts.options.d_model * parts.options.n_layers);
  const double row = 2 * (parts.matrices->of_frames * frames + attention);
  const double subsampling = parts.striding ? parts.striding->forward_flops(num_frames) : 0;
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

/// Returns the table of relative positions, cached until the number of frames changes.
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

// ---- live audio --------------------------------------------------------------------------------

namespace {

std::string text_of(ConformerOptions::Context context) {
  return "[" + std::to_string(context[0]) + ", " + std::to_string(context[1]) + "]";
}

void check_streamable(const ConformerEncoder::Parts& parts) {
  const ConformerOptions& o = parts.options;
  const auto context = parts.contexts.front();
  const bool chunked = o.att_context_style == "chunked_limited";
  if (o.subsampling_factor > 1 && !o.causal_downsampling) {
    throw encoder_not_streamable(parts.path + ".causal_downsampling", "false", "true");
  }
  if (context[1] < 0) {
    throw encoder_not_streamable(parts.path + ".att_context_size", text_of(context),
                                 "a right context of 0 or more, such as [70, 1]");
  }
  if (!chunked && context[1] > 0) {
    throw encoder_not_streamable(parts.path + ".att_context_style", o.att_context_style,
                                 "chunked_limited, since a right context adds up over the layers");
  }
  const auto conv = o.convolution_context(parts.path);
  if (conv[1] > 0) {
    throw encoder_not_streamable(parts.path + ".conv_context_size", text_of(conv), "causal");
  }
}

/// Buffers frames until a chunk is complete, then runs the chunk through all layers.
class OpenConformerStream final : public ConformerStream {
 public:
  OpenConformerStream(ConformerEncoder& encoder, ConformerEncoder::Parts& parts, int64_t batch_size)
      : encoder_(encoder), parts_(parts) {
    const auto context = parts.contexts.front();
    chunk_ = context[1] + 1;
    left_ = context[0] < 0 ? std::numeric_limits<int64_t>::max() : context[0] / chunk_ * chunk_;
    const auto options = parts.first_weight().options().requires_grad(false);
    pending_BTH_ = at::zeros({batch_size, 0, parts.options.d_model}, options);
    if (parts.striding) {
      striding_ = std::make_unique<StridingStream>(*parts.striding, batch_size);
    }
    for (const auto& layer : parts.layers) {
      caches_.push_back(layer->empty_cache(batch_size, pending_BTH_));
    }
    projected_.resize(parts.layers.size());
  }

  at::Tensor push(const at::Tensor& x_BTF) override {
    const c10::NoGradGuard no_grad;
    const at::Tensor x = x_BTF.to(pending_BTH_.options());
    append(striding_ ? striding_->push(x) : (*parts_.linear)(x));
    return take(pending_BTH_.size(1) / chunk_ * chunk_);
  }

  at::Tensor finish() override {
    const c10::NoGradGuard no_grad;
    if (striding_) append(striding_->finish());
    return take(pending_BTH_.size(1));
  }

 private:
  void append(const at::Tensor& x_BTH) {
    const double width = static_cast<double>(parts_.options.d_model);
    const at::Tensor x = parts_.options.xscaling ? x_BTH * std::sqrt(width) : x_BTH;
    pending_BTH_ = at::cat({pending_BTH_, x}, 1);
  }

  /// Runs the first `count` pending frames through the layers, chunk by chunk.
  at::Tensor take(int64_t count) {
    std::vector<at::Tensor> done{
        at::zeros({pending_BTH_.size(0), 0, encoder_.output_dim()}, pending_BTH_.options())};
    for (int64_t begin = 0; begin < count; begin += chunk_) {
      const int64_t size = std::min(chunk_, count - begin);
      done.push_back(run_chunk(pending_BTH_.narrow(1, begin, size)));
    }
    pending_BTH_ = pending_BTH_.narrow(1, count, pending_BTH_.size(1) - count).clone();
    return at::cat(done, 1);
  }

  at::Tensor run_chunk(const at::Tensor& x_BTH) {
    at::Tensor x = x_BTH;
    for (size_t i = 0; i < caches_.size(); ++i) {
      const int64_t keys = caches_[i].k_BUH.size(1) + x.size(1);
      x = parts_.layers[i]->stream(x, projected(i, keys, x.size(1)), left_, caches_[i]);
    }
    return parts_.out_proj ? (*parts_.out_proj)(x) : x;
  }

  /// Returns the projected positions from keys - 1 down to 1 - queries. They are a slice of a table
  /// that each layer computes once. Without a left limit, the table doubles when a conversation
  /// becomes longer than it.
  at::Tensor projected(size_t layer, int64_t keys, int64_t queries) {
    at::Tensor& table = projected_[layer];
    const int64_t known = table.defined() ? table.size(0) + 1 - chunk_ : 0;
    if (keys > known) {
      const int64_t all = left_ < (1 << 20) ? left_ + chunk_ : std::max<int64_t>(256, 2 * keys);
      const at::Tensor positions =
          relative_positions(all - 1, 1 - chunk_, parts_.options.d_model, pending_BTH_.device());
      table = parts_.layers[layer]->attention().project_positions(
          positions.to(pending_BTH_.scalar_type()));
    }
    const int64_t first = table.size(0) + 1 - chunk_ - keys;
    return table.narrow(0, first, keys + queries - 1);
  }

  ConformerEncoder& encoder_;
  ConformerEncoder::Parts& parts_;
  int64_t chunk_ = 1, left_ = 0;
  std::unique_ptr<StridingStream> striding_;
  at::Tensor pending_BTH_;
  std::vector<LayerCache> caches_;
  std::vector<at::Tensor> projected_;
};

}  // namespace

std::unique_ptr<ConformerStream> ConformerEncoder::open_stream(int64_t batch_size) {
  check_streamable(*parts_);
  S2S_ASSERT(!is_training(), "a live conversation runs in eval mode");
  return std::make_unique<OpenConformerStream>(*this, *parts_, batch_size);
}

}  // namespace s2s
