#include "x_vector.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "s2s/nn/weights.h"

namespace s2s::wav2vec2 {

void XVectorOptions::visit(OptionVisitor& v) {
  v("use_weighted_layer_sum", use_weighted_layer_sum, "all states of the encoder, weighted");
  v("tdnn_dim", tdnn_dim, "channels of each convolution", between(1, 65536));
  v("tdnn_kernel", tdnn_kernel, "frames that it sees", between(1, 64));
  v("tdnn_dilation", tdnn_dilation, "frames between them", between(1, 64));
  v("xvector_output_dim", xvector_output_dim, "size of the vector", between(1, 65536));
}

XVectorOptions x_vector_from_hf(const Config& foreign, const std::string& place) {
  XVectorOptions options;
  Config known = Config::map();
  for (const OptionRow& row : list_options<XVectorOptions>()) {
    const Config* const value = foreign.find(row.name);
    if (value != nullptr && !value->is_null()) known[row.name] = *value;
  }
  options = read_options<XVectorOptions>(known, place);
  const size_t count = options.tdnn_dim.size();
  if (count == 0 || options.tdnn_kernel.size() != count || options.tdnn_dilation.size() != count) {
    throw encoder_sizes_error(
        place, "tdnn_dim, tdnn_kernel and tdnn_dilation must have one number for each convolution");
  }
  return options;
}

XVector::Head::Head(int64_t width, int64_t num_states, const XVectorOptions& options,
                    std::string weights_path)
    : options_(options),
      weights_path_(std::move(weights_path)),
      projector_(width, options.tdnn_dim.front()),
      feature_extractor_(2 * options.tdnn_dim.back(), options.xvector_output_dim) {
  if (options.use_weighted_layer_sum) {
    register_parameter("layer_weights", layer_weights_, {num_states}, {Init::Kind::kOnes});
  }
  register_block("projector", projector_);
  int64_t channels = options.tdnn_dim.front();
  for (size_t i = 0; i < options.tdnn_dim.size(); ++i) {
    tdnn_.push_back(
        std::make_unique<Linear>(channels * options.tdnn_kernel[i], options.tdnn_dim[i]));
    register_block("tdnn." + std::to_string(i) + ".kernel", *tdnn_.back());
    channels = options.tdnn_dim[i];
  }
  register_block("feature_extractor", feature_extractor_);
}

XVector::Head::~Head() = default;

std::unique_ptr<WeightSource> XVector::Head::initial_values() {
  if (weights_path_.empty()) return nullptr;
  NameMap names = {{{"**", "**"}}, {"wavlm.**", "wav2vec2.**", "classifier.**", "objective.**"}};
  if (!options_.use_weighted_layer_sum) names.ignored.emplace_back("layer_weights");
  return weight_source(*this, names, WeightFiles::open(weights_path_));
}

/// Source: WavLMForXVector.forward of transformers.
at::Tensor XVector::Head::operator()(const std::vector<at::Tensor>& states_1TH) {
  at::Tensor x_1TC = states_1TH.back();
  if (options_.use_weighted_layer_sum) {
    const at::Tensor shares = at::softmax(layer_weights_, 0).view({-1, 1, 1, 1});
    x_1TC = (at::stack(states_1TH) * shares).sum(0);
  }
  at::Tensor x_1CT = projector_(x_1TC).transpose(1, 2);
  for (size_t i = 0; i < tdnn_.size(); ++i) {
    const int64_t kernel = options_.tdnn_kernel[i], dilation = options_.tdnn_dilation[i];
    if (x_1CT.size(2) <= (kernel - 1) * dilation) return {};
    const at::Tensor weight =
        tdnn_[i]->weight.view({options_.tdnn_dim[i], kernel, -1}).transpose(1, 2);
    x_1CT = at::relu(at::conv1d(x_1CT, weight, tdnn_[i]->bias, 1, at::IntArrayRef({0}), dilation));
  }
  if (x_1CT.size(2) < 2) return {};
  const at::Tensor pooled = at::cat({x_1CT.mean(2), x_1CT.std(2, /*unbiased=*/true)}, 1);
  return feature_extractor_(pooled).squeeze(0);
}

XVector::XVector(const Wav2Vec2Options& encoder, const XVectorOptions& head,
                 const std::string& place, const std::string& weights_path)
    : encoder_(encoder, place, weights_path),
      head_(encoder.hidden_size, encoder.num_hidden_layers + 1, head, weights_path) {
  register_block("encoder", encoder_);
  register_block("head", head_);
}

XVector::~XVector() = default;

at::Tensor XVector::operator()(const at::Tensor& audio_S) {
  const at::NoGradGuard no_grad;
  if (encoder_.output_frames(audio_S.numel()) == 0) return {};
  return head_(encoder_.hidden_states(audio_S.unsqueeze(0)));
}

}  // namespace s2s::wav2vec2
