#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <utility>

#include "nn/kernels/affine.h"
#include "nn/speech/lstm_output.h"
#include "s2s/error.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

constexpr const char* kBlankOfPieces = "\u2581";

/// `changed` for the audios `fed` [A], or for all; `old` for the others.
at::Tensor kept(const at::Tensor& fed_A, const at::Tensor& changed, const at::Tensor& old) {
  return fed_A.defined() ? at::where(fed_A.unsqueeze(1), changed, old) : changed;
}

/// As torch's layers begin whose input is so wide.
Init uniform_init(int64_t width) {
  return {Init::Kind::kUniform, 1 / std::sqrt(static_cast<double>(width))};
}

/// Tells a parallel strategy that the block's parameters are read.
void use_weights(Block& block) {
  if (block.hooks() != nullptr) block.hooks()->use(block);
}

at::Tensor dropped(const at::Tensor& x, double share, const Block& block) {
  return share > 0 && block.is_training() ? at::dropout(x, share, true) : x;
}

}  // namespace

CtcHead::CtcHead(int64_t width, int64_t num_labels, DecoderWeights weights)
    : width_(width), num_labels_(num_labels), weights_(weights) {
  if (weights == DecoderWeights::kTrained) {
    const auto both = static_cast<double>(width + num_labels);
    register_parameter("weight", weight_, {num_labels, width, 1},
                       {Init::Kind::kUniform, std::sqrt(6 / both)});
    register_parameter("bias", bias_, {num_labels}, uniform_init(width));
    return;
  }
  register_buffer("weight", weight_);
  register_buffer("bias", bias_);
  CtcHead::reset_buffers();
}

CtcHead::~CtcHead() = default;

void CtcHead::reset_buffers() {
  if (weights_ == DecoderWeights::kTrained) return;
  weight_ = at::zeros({num_labels_, width_, 1}, at::kFloat);
  bias_ = at::zeros({num_labels_}, at::kFloat);
}

at::Tensor CtcHead::operator()(const at::Tensor& x_ATH) {
  use_weights(*this);
  return at::linear(x_ATH.to(weight_.scalar_type()), weight_.squeeze(2), bias_);
}

TransducerDecoder::TransducerDecoder(TransducerOptions options, int64_t encoder_dim,
                                     std::string base_dir, DecoderWeights weights)
    : options_(std::move(options)),
      encoder_dim_(encoder_dim),
      base_dir_(std::move(base_dir)),
      weights_(weights),
      layers_(static_cast<size_t>(options_.pred_rnn_layers)) {
  for_each_weight(
      [&](const std::string& name, at::Tensor& member, const Sizes& sizes, int64_t width) {
        if (weights_ == DecoderWeights::kFixed) {
          register_buffer(name, member);
        } else if (width == 0) {
          register_parameter(name, member, sizes, {Init::Kind::kNormal, 1.0});
        } else {
          register_parameter(name, member, sizes, uniform_init(width));
        }
      });
}

TransducerDecoder::~TransducerDecoder() = default;

void TransducerDecoder::for_each_weight(
    const std::function<void(const std::string&, at::Tensor&, const Sizes&, int64_t)>& add) {
  const int64_t num_labels = options_.num_labels();
  const auto num_outputs = num_labels + static_cast<int64_t>(options_.durations.size());
  const int64_t pred = options_.pred_hidden, joint = options_.joint_hidden;
  add("embed.weight", embed_, {num_labels, pred}, 0);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string layer = "_l" + std::to_string(i);
    add("lstm.weight_ih" + layer, layers_[i].weight_ih, {4 * pred, pred}, pred);
    add("lstm.weight_hh" + layer, layers_[i].weight_hh, {4 * pred, pred}, pred);
    add("lstm.bias_ih" + layer, layers_[i].bias_ih, {4 * pred}, pred);
    add("lstm.bias_hh" + layer, layers_[i].bias_hh, {4 * pred}, pred);
  }
  add("enc.weight", enc_weight_, {joint, encoder_dim_}, encoder_dim_);
  add("enc.bias", enc_bias_, {joint}, encoder_dim_);
  add("pred.weight", pred_weight_, {joint, pred}, pred);
  add("pred.bias", pred_bias_, {joint}, pred);
  add("out.weight", out_weight_, {num_outputs, joint}, joint);
  add("out.bias", out_bias_, {num_outputs}, joint);
}

void TransducerDecoder::reset_buffers() {
  if (weights_ == DecoderWeights::kTrained) return;
  for_each_weight([](const std::string&, at::Tensor& member, const Sizes& sizes, int64_t) {
    member = at::zeros(sizes, at::kFloat);
  });
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

void TransducerDecoder::feed(State& state, const at::Tensor& label_A,
                             const at::Tensor& fed_A) const {
  state.joint_AJ =
      kept(fed_A, project_predictions(recur(at::embedding(embed_, label_A), fed_A, state)),
           state.joint_AJ);
}

namespace {

/// The frame [A, J] of each audio.
at::Tensor frames_at(const at::Tensor& joint_ATJ, const at::Tensor& frame_A) {
  const at::Tensor place_A11 = frame_A.clamp_max(joint_ATJ.size(1) - 1).view({-1, 1, 1});
  return joint_ATJ.gather(1, place_A11.expand({-1, 1, joint_ATJ.size(2)})).squeeze(1);
}

}  // namespace

TransducerDecoder::State TransducerDecoder::begin(int64_t rows) const {
  const at::Tensor zero_AP = at::zeros({rows, options_.pred_hidden}, embed_.options());
  const std::vector<at::Tensor> empty(layers_.size(), zero_AP);
  State state{empty, empty, {}};
  // What begins a text is zeros, or the blank's embedding.
  const at::Tensor first_AP = options_.begins_with_zeros
                                  ? zero_AP
                                  : embed_.select(0, options_.blank_label()).expand_as(zero_AP);
  state.joint_AJ = project_predictions(recur(first_AP, {}, state));
  return state;
}

at::Tensor TransducerDecoder::recur(const at::Tensor& embedded_AP, const at::Tensor& fed_A,
                                    State& state) const {
  at::Tensor x_AP = embedded_AP;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LstmLayer& layer = layers_[i];
    at::Tensor c_AP = state.c[i];
    x_AP = lstm_output(affine(x_AP, layer.weight_ih, layer.bias_ih) +
                           affine(state.h[i], layer.weight_hh, layer.bias_hh),
                       c_AP);
    state.h[i] = kept(fed_A, x_AP, state.h[i]);
    state.c[i] = kept(fed_A, c_AP, state.c[i]);
  }
  return x_AP;
}

at::Tensor TransducerDecoder::scores(const at::Tensor& sum) const {
  at::Tensor active;
  if (options_.activation == "sigmoid") {
    active = sum.sigmoid();
  } else if (options_.activation == "tanh") {
    active = sum.tanh();
  } else if (options_.activation == "silu") {
    active = at::silu(sum);
  } else if (options_.activation == "gelu") {
    active = at::gelu(sum);
  } else {
    S2S_ASSERT(options_.activation == "relu", "the joint network has a known activation");
    active = at::relu(sum);
  }
  return affine(dropped(active, options_.joint_dropout, *this), out_weight_, out_bias_);
}

/// Of each audio: its label, whether that is none, and by how many frames it goes on.
struct TransducerDecoder::Step {
  at::Tensor label_A, is_blank_A, jump_A;
  at::Tensor count_A;  // labels of this frame, 0 after a jump
};

TransducerDecoder::Step TransducerDecoder::step(const at::Tensor& scores_AV,
                                                const at::Tensor& durations,
                                                const at::Tensor& count_A) const {
  const int64_t num_labels = options_.num_labels();
  Step step;
  step.label_A = scores_AV.narrow(1, 0, num_labels).argmax(1);
  step.is_blank_A = step.label_A.eq(options_.blank_label());
  const auto num_durations = static_cast<int64_t>(options_.durations.size());
  if (num_durations == 0) {
    step.jump_A = step.is_blank_A.to(at::kLong);
  } else {
    const at::Tensor best_A = scores_AV.narrow(1, num_labels, num_durations).argmax(1);
    step.jump_A = durations.index_select(0, best_A);
    step.jump_A = at::where(step.is_blank_A, step.jump_A.clamp_min(1), step.jump_A);
  }
  step.count_A = count_A + 1;
  if (num_durations == 0 || !options_.limits_steps) {
    const at::Tensor is_full_A = step.count_A.ge(options_.max_symbols);
    step.jump_A = at::where(is_full_A, step.jump_A.clamp_min(1), step.jump_A);
  }
  step.count_A = step.count_A * step.jump_A.eq(0);
  return step;
}

std::vector<FoundLabels> TransducerDecoder::search(const at::Tensor& frames_ATD,
                                                   const at::Tensor& lengths_A) {
  const at::NoGradGuard no_grad;
  const int64_t audios = frames_ATD.size(0);
  std::vector<FoundLabels> found(static_cast<size_t>(audios));
  if (audios == 0 || frames_ATD.size(1) == 0) return found;
  const at::Tensor joint_ATJ = project_frames(frames_ATD);
  const at::Tensor length_A = lengths_A.to(joint_ATJ.device(), at::kLong);
  const at::Tensor durations = at::tensor(options_.durations, at::kLong).to(joint_ATJ.device());
  State state = begin(audios);
  at::Tensor frame_A = at::zeros_like(length_A), count_A = at::zeros_like(length_A);
  std::vector<at::Tensor> labels, frames;  // [A] of each step; -1: no label, -2: after the end
  const int64_t most = options_.limits_steps ? options_.max_symbols * joint_ATJ.size(1) - 1
                                             : std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < most; ++i) {
    const Step step =
        this->step(scores(frames_at(joint_ATJ, frame_A) + state.joint_AJ), durations, count_A);
    const at::Tensor active_A = frame_A.lt(length_A);
    const at::Tensor emits_A = active_A.logical_and(step.is_blank_A.logical_not());
    labels.push_back(at::where(emits_A, step.label_A, active_A.to(at::kLong) - 2));
    frames.push_back(frame_A);
    frame_A = frame_A + step.jump_A * active_A;
    count_A = step.count_A;
    // The host waits once for a step.
    const at::Tensor goes_on = at::stack({frame_A.lt(length_A).any(), emits_A.any()}).cpu();
    if (!goes_on[0].item<bool>()) break;
    if (goes_on[1].item<bool>()) feed(state, step.label_A, emits_A);
  }
  if (labels.empty()) return found;
  const at::Tensor labels_NA = at::stack(labels).cpu(), frames_NA = at::stack(frames).cpu();
  const auto label = labels_NA.accessor<int64_t, 2>(), frame = frames_NA.accessor<int64_t, 2>();
  for (int64_t n = 0; n < labels_NA.size(0); ++n) {
    for (int64_t a = 0; a < audios; ++a) {
      FoundLabels& one = found[static_cast<size_t>(a)];
      if (label[n][a] == -1) one.blank_frames.push_back(frame[n][a]);
      if (label[n][a] < 0) continue;
      one.labels.push_back(label[n][a]);
      one.frames.push_back(frame[n][a]);
    }
  }
  return found;
}

std::vector<std::vector<int64_t>> TransducerDecoder::labels(const at::Tensor& frames_ATD,
                                                            const at::Tensor& lengths_A) {
  std::vector<std::vector<int64_t>> found;
  for (FoundLabels& one : search(frames_ATD, lengths_A)) found.push_back(std::move(one.labels));
  return found;
}

at::Tensor TransducerDecoder::predictions(const at::Tensor& labels_AU) {
  use_weights(*this);
  const at::Tensor embedded_AUP = at::embedding(embed_, labels_AU);
  const int64_t audios = labels_AU.size(0), width = options_.pred_hidden;
  const at::Tensor first_A1P =
      options_.begins_with_zeros
          ? embed_.new_zeros({audios, 1, width})
          : embed_.select(0, options_.blank_label()).expand({audios, 1, width});
  at::Tensor x_AUP = at::cat({first_A1P, embedded_AUP}, 1);
  for (const LstmLayer& layer : layers_) {
    const at::Tensor given_AUG = at::linear(x_AUP, layer.weight_ih, layer.bias_ih);
    at::Tensor h_AP = x_AUP.new_zeros({audios, width}), c_AP = h_AP;
    std::vector<at::Tensor> outputs;
    for (int64_t u = 0; u < given_AUG.size(1); ++u) {
      h_AP =
          lstm_output(given_AUG.select(1, u) + affine(h_AP, layer.weight_hh, layer.bias_hh), c_AP);
      outputs.push_back(h_AP);
    }
    x_AUP = dropped(at::stack(outputs, 1), options_.pred_dropout, *this);
  }
  return x_AUP;
}

at::Tensor TransducerDecoder::project_predictions(const at::Tensor& predictions_AUP) const {
  return affine(predictions_AUP, pred_weight_, pred_bias_);
}

at::Tensor TransducerDecoder::project_frames(const at::Tensor& frames_ATD) {
  use_weights(*this);
  const at::Tensor own_ATD = frames_ATD.narrow(2, frames_ATD.size(2) - encoder_dim_, encoder_dim_);
  return at::linear(own_ATD.to(enc_weight_.scalar_type()), enc_weight_, enc_bias_);
}

at::Tensor TransducerDecoder::joint(const at::Tensor& frames_ATJ,
                                    const at::Tensor& predictions_AUJ) const {
  return scores(frames_ATJ.unsqueeze(2) + predictions_AUJ.unsqueeze(1));
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

std::vector<FoundLabels> ctc_search(const at::Tensor& scores_ATV, const at::Tensor& lengths_A,
                                    int64_t blank) {
  const at::Tensor best_AT = scores_ATV.argmax(2).to(at::kCPU).contiguous();
  const std::vector<int64_t> lengths = to_vector(lengths_A);
  const auto best = best_AT.accessor<int64_t, 2>();
  std::vector<FoundLabels> found(lengths.size());
  for (int64_t a = 0; a < best_AT.size(0); ++a) {
    FoundLabels& one = found[static_cast<size_t>(a)];
    int64_t before = blank;
    for (int64_t t = 0; t < lengths[static_cast<size_t>(a)]; ++t) {
      const int64_t label = best[a][t];
      if (label != before && label != blank) {
        one.labels.push_back(label);
        one.frames.push_back(t);
      }
      before = label;
    }
  }
  return found;
}

std::vector<std::vector<int64_t>> ctc_labels(const at::Tensor& scores_ATV,
                                             const at::Tensor& lengths_A) {
  std::vector<std::vector<int64_t>> found;
  for (FoundLabels& one : ctc_search(scores_ATV, lengths_A, scores_ATV.size(2) - 1)) {
    found.push_back(std::move(one.labels));
  }
  return found;
}

}  // namespace s2s
