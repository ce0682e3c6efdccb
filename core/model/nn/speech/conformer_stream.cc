// A ConformerEncoder on live audio.
// Shape letters: B batch, T frames, U keys, F features, H width.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "nn/speech/conformer_parts.h"
#include "nn/speech/encoder_errors.h"

namespace s2s {

FrameStream::~FrameStream() = default;

namespace {

std::string text_of(ConformerOptions::Context context) {
  return "[" + std::to_string(context[0]) + ", " + std::to_string(context[1]) + "]";
}

void check_streamable_subsampling(const ConformerEncoder::Parts& parts) {
  const ConformerOptions& o = parts.options;
  if (o.subsampling_factor == 1 || o.subsampling.starts_with("stacking")) return;
  if (o.subsampling == "vggnet") {
    throw encoder_not_streamable(parts.path + ".subsampling", o.subsampling,
                                 "dw_striding, striding or stacking");
  }
  if (!o.causal_downsampling) {
    throw encoder_not_streamable(parts.path + ".causal_downsampling", "false", "true");
  }
}

void check_streamable(const ConformerEncoder::Parts& parts) {
  const ConformerOptions& o = parts.options;
  const auto context = parts.contexts.front();
  const bool chunked = o.att_context_style == "chunked_limited";
  check_streamable_subsampling(parts);
  if (o.self_attention_model != "rel_pos") {
    throw encoder_not_streamable(parts.path + ".self_attention_model", o.self_attention_model,
                                 "rel_pos");
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
class OpenConformerStream final : public FrameStream {
 public:
  OpenConformerStream(ConformerEncoder& encoder, ConformerEncoder::Parts& parts, int64_t batch_size)
      : encoder_(encoder), parts_(parts) {
    const auto context = parts.contexts.front();
    chunk_ = context[1] + 1;
    left_ = context[0] < 0 ? std::numeric_limits<int64_t>::max() : context[0] / chunk_ * chunk_;
    const auto options = parts.first_weight().options().requires_grad(false);
    pending_BTH_ = at::zeros({batch_size, 0, parts.options.d_model}, options);
    if (parts.subsampling) subsampling_ = parts.subsampling->open_stream(batch_size);
    for (const auto& layer : parts.layers) {
      caches_.push_back(layer->empty_cache(batch_size, pending_BTH_));
    }
    projected_.resize(parts.layers.size());
  }

  at::Tensor push(const at::Tensor& x_BTF) override {
    const c10::NoGradGuard no_grad;
    const at::Tensor x = x_BTF.to(pending_BTH_.options());
    append(subsampling_ ? subsampling_->push(x) : (*parts_.linear)(x));
    return take(pending_BTH_.size(1) / chunk_ * chunk_);
  }

  at::Tensor finish() override {
    const c10::NoGradGuard no_grad;
    if (subsampling_) append(subsampling_->finish());
    return take(pending_BTH_.size(1));
  }

  /// From now on keeps what NeMo keeps. Before the first frame.
  void keep_inputs() {
    for (LayerCache& cache : caches_) cache.input_BUH = at::zeros_like(cache.k_BUH);
  }

  /// NeMo's caches, by its names. There is a limit on the left.
  TensorMap kept_inputs() const {
    std::vector<at::Tensor> channel, time;
    for (const LayerCache& cache : caches_) {
      const int64_t missing = left_ - cache.input_BUH.size(1);
      channel.push_back(at::constant_pad_nd(cache.input_BUH, {0, 0, missing, 0}));
      time.push_back(cache.conv_BTH.transpose(1, 2));
    }
    const at::Tensor& first = caches_.front().input_BUH;
    return {{"last_channel", at::stack(channel)},
            {"last_time", at::stack(time)},
            {"last_channel_len", at::full({first.size(0)}, first.size(1), at::kLong)}};
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
    return parts_.through_layers(x_BTH, [&](size_t i, const at::Tensor& x) {
      const int64_t keys = caches_[i].k_BUH.size(1) + x.size(1);
      return parts_.layers[i]->stream(x, projected(i, keys, x.size(1)), left_, caches_[i]);
    });
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
  std::unique_ptr<SubsamplingStream> subsampling_;
  at::Tensor pending_BTH_;
  std::vector<LayerCache> caches_;
  std::vector<at::Tensor> projected_;
};

}  // namespace

TensorMap ConformerEncoder::stream_steps(const at::Tensor& x_BTF) {
  check_streamable(*parts_);
  const auto [left, right] = parts_->contexts.front();
  if (left < 0) return {};
  OpenConformerStream stream(*this, *parts_, x_BTF.size(0));
  stream.keep_inputs();
  TensorMap steps;
  const int64_t factor = subsampling_factor(), frames = x_BTF.size(1);
  int64_t size = 1 + factor * right;
  for (int64_t begin = 0, step = 0; begin < frames; ++step) {
    const int64_t end = std::min(frames, begin + size);
    stream.push(x_BTF.slice(1, begin, end));
    if (end == frames) stream.finish();
    const std::string prefix = "step" + std::to_string(step) + "_";
    for (const auto& [name, kept] : stream.kept_inputs()) steps[prefix + name] = kept;
    begin = end;
    size = factor * (right + 1);
  }
  return steps;
}

std::unique_ptr<FrameStream> ConformerEncoder::open_stream(int64_t batch_size) {
  check_streamable(*parts_);
  S2S_ASSERT(!is_training(), "a live conversation runs in eval mode");
  return std::make_unique<OpenConformerStream>(*this, *parts_, batch_size);
}

}  // namespace s2s
