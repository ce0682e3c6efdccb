#include "speaker_label.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "s2s/nn/weights.h"

namespace s2s::wav2vec2 {
namespace {

constexpr double kEncoderEpsilon = 1e-3;
constexpr double kDecoderEpsilon = 1e-5;
constexpr double kLeastVariance = 1e-10;
constexpr const char* kAttention = "decoder._pooling.attention_layer.";

std::string text_at(const Config& node, const std::string& key) {
  const Config* const found = node.find(key);
  if (found == nullptr || found->is_null()) return "null";
  return found->is_scalar() ? found->text() : "(a list or map)";
}

/// Refuses a value that is not implemented. A key that is missing has NeMo's default.
void expect(const Config& node, const std::string& place, const std::string& key,
            const std::string& known) {
  const std::string found = text_at(node, key);
  if (found != "null" && found != known) throw_unsupported_config(place, key, found, known);
}

/// Refuses another class, whatever its module is.
void expect_class(const Config& node, const std::string& place, const std::string& key,
                  const std::string& known) {
  const std::string found = text_at(node, key);
  if (!found.ends_with("." + known)) throw_unsupported_config(place, key, found, known);
}

/// The keys of a block that are options of ours.
template <HasOptions T>
T known_options(const Config& node, const std::string& place) {
  Config known = Config::map();
  for (const OptionRow& row : list_options<T>()) {
    const Config* const value = node.find(row.name);
    if (value != nullptr && !value->is_null()) known[row.name] = *value;
  }
  return read_options<T>(known, place);
}

struct EncoderKeysOfNemo {
  int64_t feat_in = 0;

  void visit(OptionVisitor& v) { v("feat_in", feat_in, "features", required(at_least(1))); }
};

struct DecoderKeysOfNemo {
  std::string pool_mode = "xvector";
  int64_t attention_channels = 128;
  std::vector<int64_t> emb_sizes = {256};

  void visit(OptionVisitor& v) {
    v("pool_mode", pool_mode, "how frames become one vector",
      one_of({"xvector", "tap", "attention"}));
    v("attention_channels", attention_channels, "width of the attention", at_least(1));
    v("emb_sizes", emb_sizes, "sizes of the layers; the last one is the vector", at_least(1));
  }
};

/// A block of the configuration, which must be there.
const Config& block_of(const Config& foreign, const std::string& place, const std::string& key) {
  const Config* const found = foreign.find(key);
  if (found == nullptr || !found->is_map()) {
    throw_unsupported_config(place, key, text_at(foreign, key), "a block");
  }
  return *found;
}

JasperOptions jasper_of(const Config& node, const std::string& place) {
  for (const auto& [key, known] : {std::pair("residual_dense", "false"),
                                   {"groups", "1"},
                                   {"heads", "-1"},
                                   {"future_context", "-1"},
                                   {"residual_mode", "add"},
                                   {"stride_last", "false"},
                                   {"se_context_size", "-1"}}) {
    expect(node, place, key, known);
  }
  const auto options = known_options<JasperOptions>(node, place);
  for (const auto& [key, list] : {std::pair("kernel", &options.kernel),
                                  {"stride", &options.stride},
                                  {"dilation", &options.dilation}}) {
    if (list->size() != 1) throw_unsupported_config(place, key, text_at(node, key), "one number");
  }
  if (options.kernel[0] % 2 == 0) {
    throw_unsupported_config(place, "kernel", std::to_string(options.kernel[0]), "an odd number");
  }
  if (options.residual && options.stride[0] > 1) {
    throw_unsupported_config(place, "stride", std::to_string(options.stride[0]),
                             "1 in a block with a residual");
  }
  return options;
}

/// Mean and deviation, weighted over the frames.
at::Tensor statistics(const at::Tensor& x_1CT, const at::Tensor& weights) {
  const at::Tensor mean_1C1 = (weights * x_1CT).sum(2, true);
  const at::Tensor variance_1C1 = (weights * (x_1CT - mean_1C1).square()).sum(2, true);
  return at::cat({mean_1C1, variance_1C1.clamp_min(kLeastVariance).sqrt()}, 1);
}

}  // namespace

void JasperOptions::visit(OptionVisitor& v) {
  v("filters", filters, "channels", required(between(1, 65536)));
  v("repeat", repeat, "convolutions", between(1, 64));
  v("kernel", kernel, "frames that they see", between(1, 1024));
  v("stride", stride, "frames between their outputs", between(1, 64));
  v("dilation", dilation, "frames between those that they see", between(1, 64));
  v("dropout", dropout, "in training only", between(0, 1));
  v("residual", residual, "adds what goes in");
  v("separable", separable, "channels by themselves, then frames by themselves");
  v("se", se, "squeeze and excitation");
  v("se_reduction_ratio", se_reduction_ratio, "channels over those between", between(1, 65536));
  v("kernel_size_factor", kernel_size_factor, "of the kernel", between(1, 1));
}

SpeakerLabelOptions speaker_label_from_nemo(const Config& foreign, const std::string& place) {
  expect_class(foreign, place, "target", "EncDecSpeakerLabelModel");
  const Config& encoder = block_of(foreign, place, "encoder");
  const Config& decoder = block_of(foreign, place, "decoder");
  const std::string of_encoder = place + ": encoder", of_decoder = place + ": decoder";
  expect_class(encoder, of_encoder, "_target_", "ConvASREncoder");
  for (const auto& [key, known] : {std::pair("activation", "relu"),
                                   {"conv_mask", "true"},
                                   {"normalization_mode", "batch"},
                                   {"residual_mode", "add"},
                                   {"frame_splicing", "1"},
                                   {"quantize", "false"}}) {
    expect(encoder, of_encoder, key, known);
  }
  expect_class(decoder, of_decoder, "_target_", "SpeakerDecoder");
  SpeakerLabelOptions options;
  options.preprocessor =
      known_options<MelOptions>(block_of(foreign, place, "preprocessor"), place + ": preprocessor");
  options.feat_in = known_options<EncoderKeysOfNemo>(encoder, of_encoder).feat_in;
  const Config* const jasper = encoder.find("jasper");
  if (jasper == nullptr || !jasper->is_list() || jasper->items().empty()) {
    throw_unsupported_config(of_encoder, "jasper", text_at(encoder, "jasper"), "a list of blocks");
  }
  for (size_t i = 0; i < jasper->items().size(); ++i) {
    options.jasper.push_back(
        jasper_of(jasper->items()[i], of_encoder + ".jasper[" + std::to_string(i) + "]"));
  }
  Config keys = decoder;  // emb_sizes may be one number
  const Config* const sizes = keys.find("emb_sizes");
  if (sizes != nullptr && sizes->is_scalar() && !sizes->is_null()) {
    keys["emb_sizes"] = Config::list({*sizes});
  }
  const auto found = known_options<DecoderKeysOfNemo>(keys, of_decoder);
  options.pool_mode = found.pool_mode;
  options.attention_channels = found.attention_channels;
  options.emb_sizes = found.emb_sizes;
  if (options.emb_sizes.empty()) {
    throw_unsupported_config(of_decoder, "emb_sizes", "[]", "at least one size");
  }
  return options;
}

SpeakerLabel::SpeakerLabel(const SpeakerLabelOptions& options, const std::string& path)
    : mel_(options.preprocessor, path + ": preprocessor", /*stored=*/false),
      pool_mode_(options.pool_mode) {
  register_block("preprocessor", mel_);
  int64_t channels = options.feat_in;
  for (size_t i = 0; i < options.jasper.size(); ++i) {
    add_block("encoder.encoder." + std::to_string(i) + ".", channels, options.jasper[i]);
    channels = options.jasper[i].filters;
  }
  add_decoder(options, channels);
  materialize(at::kCPU, at::kFloat, 0);
  train(false);
  NameMap names = {{{"**", "**"}},
                   {"preprocessor.**", "decoder.final.**", "loss.**", "eval_loss.**"}};
  const WeightFiles files = WeightFiles::open(path);
  for (const auto& [name, facts] : files.facts()) {
    if (name.ends_with(".num_batches_tracked")) names.ignored.push_back(name);
  }
  load_weights(*this, names, files);
}

SpeakerLabel::~SpeakerLabel() = default;

const at::Tensor* SpeakerLabel::add(const std::string& name, const std::vector<int64_t>& sizes) {
  weights_.push_back(at::empty(sizes, at::kFloat));
  register_buffer(name, weights_.back());
  return &weights_.back();
}

SpeakerLabel::Convolution SpeakerLabel::add_convolution(const std::string& name, int64_t in,
                                                        int64_t out, bool has_bias) {
  const at::Tensor* const weight = add(name + ".weight", {out, in, 1});
  return {weight, has_bias ? add(name + ".bias", {out}) : nullptr, 1, 1, 1};
}

SpeakerLabel::Norm SpeakerLabel::add_norm(const std::string& name, int64_t channels, double epsilon,
                                          bool is_affine) {
  const at::Tensor* const weight = is_affine ? add(name + ".weight", {channels}) : nullptr;
  const at::Tensor* const bias = is_affine ? add(name + ".bias", {channels}) : nullptr;
  const at::Tensor* const mean = add(name + ".running_mean", {channels});
  return {weight, bias, mean, add(name + ".running_var", {channels}), epsilon};
}

/// Layers are numbered from `first` on.
SpeakerLabel::Stage SpeakerLabel::add_stage(const std::string& prefix, int64_t first, int64_t in,
                                            const JasperOptions& options) {
  const auto name = [&](int64_t layer) { return prefix + std::to_string(first + layer); };
  const int64_t kernel = options.kernel[0], stride = options.stride[0];
  const int64_t dilation = options.dilation[0], out = options.filters;
  Stage stage;
  if (options.separable) {
    const at::Tensor* const weight = add(name(0) + ".conv.weight", {in, 1, kernel});
    stage.convolutions.push_back({weight, nullptr, stride, dilation, in});
    stage.convolutions.push_back(add_convolution(name(1) + ".conv", in, out, false));
  } else {
    const at::Tensor* const weight = add(name(0) + ".conv.weight", {out, in, kernel});
    stage.convolutions.push_back({weight, nullptr, stride, dilation, 1});
  }
  const auto layer = static_cast<int64_t>(stage.convolutions.size());
  stage.norm = add_norm(name(layer), out, kEncoderEpsilon, true);
  return stage;
}

void SpeakerLabel::add_block(const std::string& prefix, int64_t in, const JasperOptions& options) {
  JasperBlock block{};
  const int64_t layers = options.separable ? 3 : 2;  // of a stage; activation and dropout follow
  const int64_t out = options.filters;
  int64_t first = 0, channels = in;
  for (int64_t i = 0; i < options.repeat; ++i, first += layers + 2, channels = out) {
    block.stages.push_back(add_stage(prefix + "mconv.", first, channels, options));
  }
  if (options.se) {
    const std::string name = prefix + "mconv." + std::to_string(first - 2) + ".fc.";
    const int64_t between = out / options.se_reduction_ratio;
    block.squeeze = add(name + "0.weight", {between, out});
    block.excite = add(name + "2.weight", {out, between});
  }
  if (options.residual) {
    JasperOptions plain;
    plain.filters = out;
    plain.kernel = plain.stride = plain.dilation = {1};
    block.residual = add_stage(prefix + "res.0.", 0, in, plain);
  }
  blocks_.push_back(std::move(block));
}

void SpeakerLabel::add_decoder(const SpeakerLabelOptions& options, int64_t in) {
  const bool has_attention = pool_mode_ == "attention";
  int64_t channels = pool_mode_ == "tap" ? in : 2 * in;
  if (has_attention) {
    const std::string name = kAttention;
    attention_.in =
        add_convolution(name + "0.conv_layer", 3 * in, options.attention_channels, true);
    attention_.norm = add_norm(name + "0.bn", options.attention_channels, kDecoderEpsilon, true);
    attention_.out = add_convolution(name + "2", options.attention_channels, in, true);
  }
  for (size_t i = 0; i < options.emb_sizes.size(); ++i) {
    const std::string name = "decoder.emb_layers." + std::to_string(i) + ".";
    const int64_t size = options.emb_sizes[i];
    if (has_attention) {
      const Norm norm = add_norm(name + "0", channels, kDecoderEpsilon, true);
      embeddings_.emplace_back(add_convolution(name + "1", channels, size, true), norm);
    } else {
      const at::Tensor* const weight = add(name + "0.weight", {size, channels});
      const Convolution linear = {weight, add(name + "0.bias", {size}), 1, 1, 1};
      embeddings_.emplace_back(linear, add_norm(name + "1", size, kDecoderEpsilon, false));
    }
    channels = size;
  }
}

at::Tensor SpeakerLabel::run(const Convolution& convolution, const at::Tensor& x_1CT) {
  const at::Tensor bias = convolution.bias == nullptr ? at::Tensor() : *convolution.bias;
  const int64_t padding = convolution.dilation * (convolution.weight->size(2) - 1) / 2;
  return at::conv1d(x_1CT, *convolution.weight, bias, convolution.stride, padding,
                    convolution.dilation, convolution.groups);
}

at::Tensor SpeakerLabel::run(const Norm& norm, const at::Tensor& x) {
  const auto optional = [](const at::Tensor* tensor) {
    return tensor == nullptr ? at::Tensor() : *tensor;
  };
  return at::batch_norm(x, optional(norm.weight), optional(norm.bias), *norm.mean, *norm.variance,
                        /*training=*/false, /*momentum=*/0, norm.epsilon, /*cudnn_enabled=*/false);
}

at::Tensor SpeakerLabel::run(const Stage& stage, at::Tensor x_1CT) {
  for (const Convolution& convolution : stage.convolutions) x_1CT = run(convolution, x_1CT);
  return run(stage.norm, x_1CT);
}

/// Source: JasperBlock.forward of NeMo, without padding after the audio.
at::Tensor SpeakerLabel::encoded(at::Tensor x_1CT) const {
  for (const JasperBlock& block : blocks_) {
    at::Tensor out_1CT = x_1CT;
    for (size_t i = 0; i < block.stages.size(); ++i) {
      if (i > 0) out_1CT = at::relu(out_1CT);
      out_1CT = run(block.stages[i], out_1CT);
    }
    if (block.squeeze != nullptr) {
      const at::Tensor squeezed = at::relu(at::linear(out_1CT.mean(2), *block.squeeze));
      out_1CT = out_1CT * at::sigmoid(at::linear(squeezed, *block.excite)).unsqueeze(2);
    }
    if (block.residual) out_1CT = out_1CT + run(*block.residual, x_1CT);
    x_1CT = at::relu(out_1CT);
  }
  return x_1CT;
}

/// Source: AttentivePoolLayer.forward of NeMo.
at::Tensor SpeakerLabel::attention_pooled(const at::Tensor& x_1CT) const {
  const int64_t frames = x_1CT.size(2);
  const at::Tensor equal = at::full({1, 1, 1}, 1.0 / static_cast<double>(frames));
  const at::Tensor seen =
      at::cat({x_1CT, statistics(x_1CT, equal).expand({1, 2 * x_1CT.size(1), frames})}, 1);
  const at::Tensor hidden = at::tanh(run(attention_.norm, at::relu(run(attention_.in, seen))));
  return statistics(x_1CT, at::softmax(run(attention_.out, hidden), 2));
}

at::Tensor SpeakerLabel::pooled(const at::Tensor& x_1CT) const {
  if (pool_mode_ == "attention") return attention_pooled(x_1CT);
  const at::Tensor mean_1C = x_1CT.mean(2);
  if (pool_mode_ == "tap") return mean_1C;
  return at::cat({mean_1C, x_1CT.var(2, /*unbiased=*/true).clamp_min(kLeastVariance).sqrt()}, 1);
}

at::Tensor SpeakerLabel::operator()(const at::Tensor& audio_S) {
  const at::NoGradGuard no_grad;
  constexpr int64_t kFewestFrames = 2;  // of which a deviation can be computed
  const int64_t frames = mel_.frames(audio_S.numel());
  if (frames < kFewestFrames) return {};
  const at::Tensor lengths_1 = at::full({1}, audio_S.numel(), at::kLong);
  const at::Tensor features_1TF = mel_.forward(audio_S.unsqueeze(0), lengths_1);
  const at::Tensor encoded_1CT = encoded(features_1TF.narrow(1, 0, frames).transpose(1, 2));
  if (encoded_1CT.size(2) < kFewestFrames) return {};
  at::Tensor x = pooled(encoded_1CT);
  for (size_t i = 0; i < embeddings_.size(); ++i) {
    const auto& [layer, norm] = embeddings_[i];
    const bool is_last = i + 1 == embeddings_.size();
    if (pool_mode_ == "attention") {
      x = run(layer, run(norm, x));
    } else {
      x = run(norm, at::linear(x, *layer.weight, *layer.bias));
      if (!is_last) x = at::relu(x);
    }
  }
  return x.flatten();
}

}  // namespace s2s::wav2vec2
