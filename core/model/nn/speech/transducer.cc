#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "s2s/nn/weights.h"

namespace s2s {
namespace {

constexpr const char* kBlankOfPieces = "\u2581";

}  // namespace

TransducerDecoder::TransducerDecoder(TransducerOptions options, int64_t encoder_dim,
                                     std::string base_dir)
    : options_(std::move(options)),
      encoder_dim_(encoder_dim),
      base_dir_(std::move(base_dir)),
      layers_(static_cast<size_t>(options_.pred_rnn_layers)) {
  register_buffer("embed.weight", embed_);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string layer = "_l" + std::to_string(i);
    register_buffer("lstm.weight_ih" + layer, layers_[i].weight_ih);
    register_buffer("lstm.weight_hh" + layer, layers_[i].weight_hh);
    register_buffer("lstm.bias_ih" + layer, layers_[i].bias_ih);
    register_buffer("lstm.bias_hh" + layer, layers_[i].bias_hh);
  }
  register_buffer("enc.weight", enc_weight_);
  register_buffer("enc.bias", enc_bias_);
  register_buffer("pred.weight", pred_weight_);
  register_buffer("pred.bias", pred_bias_);
  register_buffer("out.weight", out_weight_);
  register_buffer("out.bias", out_bias_);
}

void TransducerDecoder::reset_buffers() {
  const auto num_labels = static_cast<int64_t>(options_.vocabulary.size()) + 1;  // and blank
  const auto num_outputs = num_labels + static_cast<int64_t>(options_.durations.size());
  const int64_t pred = options_.pred_hidden, joint = options_.joint_hidden;
  const at::TensorOptions type(at::kFloat);
  embed_ = at::zeros({num_labels, pred}, type);
  for (LstmLayer& layer : layers_) {
    layer.weight_ih = at::zeros({4 * pred, pred}, type);
    layer.weight_hh = at::zeros({4 * pred, pred}, type);
    layer.bias_ih = at::zeros({4 * pred}, type);
    layer.bias_hh = at::zeros({4 * pred}, type);
  }
  enc_weight_ = at::zeros({joint, encoder_dim_}, type);
  enc_bias_ = at::zeros({joint}, type);
  pred_weight_ = at::zeros({joint, pred}, type);
  pred_bias_ = at::zeros({joint}, type);
  out_weight_ = at::zeros({num_outputs, joint}, type);
  out_bias_ = at::zeros({num_outputs}, type);
}

NameMap TransducerDecoder::names(const std::string& ours, const std::string& theirs,
                                 int64_t num_layers) {
  NameMap names;
  const auto add = [&](const std::string& our_name, const std::string& their_name) {
    for (const char* tensor : {".weight", ".bias"}) {
      names.rules.push_back({ours + our_name + tensor, theirs + their_name + tensor});
    }
  };
  add("embed", "decoder.prediction.embed");
  for (int64_t i = 0; i < num_layers; ++i) {
    for (const char* tensor : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      const std::string name = std::string("lstm.") + tensor + "_l" + std::to_string(i);
      names.rules.push_back({ours + name, theirs + "decoder.prediction.dec_rnn." + name});
    }
  }
  add("enc", "joint.enc");
  add("pred", "joint.pred");
  add("out", "joint.joint_net.2");
  for (const char* tensor : {".weight", ".bias"}) {  // a joint without dropout
    names.other_spellings.push_back({ours + "out" + tensor, theirs + "joint.joint_net.1" + tensor});
  }
  return names;
}

std::unique_ptr<WeightSource> TransducerDecoder::initial_values() {
  if (!options_.path) return nullptr;
  return weight_source(*this, names("", "", options_.pred_rnn_layers),
                       WeightFiles::open(resolve_path(*options_.path, base_dir_)));
}

void TransducerDecoder::feed(State& state, int64_t label) const {
  at::Tensor x_1P = embed_.narrow(0, label, 1);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LstmLayer& layer = layers_[i];
    std::tie(state.h[i], state.c[i]) =
        at::lstm_cell(x_1P, {state.h[i], state.c[i]}, layer.weight_ih, layer.weight_hh,
                      layer.bias_ih, layer.bias_hh);
    x_1P = state.h[i];
  }
  state.joint_1J = at::linear(x_1P, pred_weight_, pred_bias_);
}

std::vector<int64_t> TransducerDecoder::decode(const at::Tensor& joint_TJ) const {
  const auto blank = static_cast<int64_t>(options_.vocabulary.size());
  const at::Tensor zero_1P = at::zeros({1, options_.pred_hidden}, embed_.options());
  State state{std::vector<at::Tensor>(layers_.size(), zero_1P),
              std::vector<at::Tensor>(layers_.size(), zero_1P),
              {}};
  feed(state, blank);  // what begins a text
  std::vector<int64_t> labels;
  int64_t count = 0;  // of this frame
  for (int64_t t = 0; t < joint_TJ.size(0);) {
    const at::Tensor sum_1J = at::relu(joint_TJ[t].unsqueeze(0) + state.joint_1J);
    const at::Tensor scores_V = at::linear(sum_1J, out_weight_, out_bias_).squeeze(0);
    const int64_t label = scores_V.narrow(0, 0, blank + 1).argmax().item<int64_t>();
    int64_t jump = duration(scores_V);
    if (label == blank) {
      jump = std::max<int64_t>(jump, 1);
    } else {
      labels.push_back(label);
      feed(state, label);
      if (jump == 0 && ++count >= options_.max_symbols) jump = 1;
    }
    if (jump > 0) count = 0;
    t += jump;
  }
  return labels;
}

int64_t TransducerDecoder::duration(const at::Tensor& scores_V) const {
  const auto count = static_cast<int64_t>(options_.durations.size());
  if (count == 0) return 0;
  const at::Tensor of_durations = scores_V.narrow(0, scores_V.size(0) - count, count);
  return options_.durations[static_cast<size_t>(of_durations.argmax().item<int64_t>())];
}

std::vector<std::vector<int64_t>> TransducerDecoder::labels(const at::Tensor& frames_ATD,
                                                            const at::Tensor& lengths_A) {
  const at::NoGradGuard no_grad;
  const int64_t width = frames_ATD.size(2);
  const at::Tensor own_ATD =
      frames_ATD.narrow(2, width - encoder_dim_, encoder_dim_).to(enc_weight_.scalar_type());
  const at::Tensor joint_ATJ = at::linear(own_ATD, enc_weight_, enc_bias_);
  const at::Tensor host_A = lengths_A.to(at::kCPU, at::kLong);
  std::vector<std::vector<int64_t>> found;
  for (int64_t a = 0; a < frames_ATD.size(0); ++a) {
    found.push_back(decode(joint_ATJ[a].narrow(0, 0, host_A[a].item<int64_t>())));
  }
  return found;
}

std::string text_of_labels(const std::vector<std::string>& vocabulary,
                           const std::vector<int64_t>& labels) {
  std::string text;
  bool has_pieces = false;
  for (const int64_t label : labels) {
    std::string piece = vocabulary[static_cast<size_t>(label)];
    const size_t blank = piece.find(kBlankOfPieces);
    if (blank != std::string::npos) {
      has_pieces = true;
      piece.replace(blank, std::string(kBlankOfPieces).size(), " ");
    }
    text += piece;
  }
  return has_pieces && text.starts_with(' ') ? text.substr(1) : text;
}

std::vector<std::vector<int64_t>> ctc_labels(const at::Tensor& scores_ATV,
                                             const at::Tensor& lengths_A) {
  const at::Tensor best_AT = scores_ATV.argmax(2).to(at::kCPU);
  const at::Tensor host_A = lengths_A.to(at::kCPU, at::kLong);
  const int64_t blank = scores_ATV.size(2) - 1;
  std::vector<std::vector<int64_t>> found;
  for (int64_t a = 0; a < best_AT.size(0); ++a) {
    const at::Tensor best_T = best_AT[a].narrow(0, 0, host_A[a].item<int64_t>()).contiguous();
    std::vector<int64_t>& labels = found.emplace_back();
    int64_t before = blank;
    for (int64_t t = 0; t < best_T.size(0); ++t) {
      const int64_t label = best_T.const_data_ptr<int64_t>()[t];
      if (label != before && label != blank) labels.push_back(label);
      before = label;
    }
  }
  return found;
}

}  // namespace s2s
