#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <utility>

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
  const int64_t num_labels = options_.num_labels();
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

TransducerDecoder::State TransducerDecoder::empty_state(int64_t audios) const {
  const at::Tensor zero_AP = at::zeros({audios, options_.pred_hidden}, embed_.options());
  return {std::vector<at::Tensor>(layers_.size(), zero_AP),
          std::vector<at::Tensor>(layers_.size(), zero_AP),
          {},
          at::tensor(options_.durations, at::kLong).to(embed_.device())};
}

void TransducerDecoder::feed(State& state, const at::Tensor& label_A,
                             const at::Tensor& fed_A) const {
  state.joint_AJ =
      kept(fed_A, project_predictions(recur(at::embedding(embed_, label_A), fed_A, state)),
           state.joint_AJ);
}

at::Tensor TransducerDecoder::recur(const at::Tensor& embedded_AP, const at::Tensor& fed_A,
                                    State& state) const {
  at::Tensor x_AP = embedded_AP;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LstmLayer& layer = layers_[i];
    // Not at::lstm_cell: not every device has its fused kernel.
    const at::Tensor gates_AG = at::linear(x_AP, layer.weight_ih, layer.bias_ih) +
                                at::linear(state.h[i], layer.weight_hh, layer.bias_hh);
    const std::vector<at::Tensor> gates = gates_AG.chunk(4, 1);
    const at::Tensor c_AP = gates[1].sigmoid() * state.c[i] + gates[0].sigmoid() * gates[2].tanh();
    x_AP = gates[3].sigmoid() * c_AP.tanh();
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
  return at::linear(active, out_weight_, out_bias_);
}

/// Of each audio: its label, whether that is none, and by how many frames it goes on.
struct TransducerDecoder::Step {
  at::Tensor label_A, is_blank_A, jump_A;
  at::Tensor count_A;  // labels of this frame, 0 after a jump
};

TransducerDecoder::Step TransducerDecoder::step(const at::Tensor& joint_ATJ, const State& state,
                                                const at::Tensor& frame_A,
                                                const at::Tensor& count_A) const {
  const at::Tensor place_A11 = frame_A.clamp_max(joint_ATJ.size(1) - 1).view({-1, 1, 1});
  const at::Tensor frame_AJ =
      joint_ATJ.gather(1, place_A11.expand({-1, 1, joint_ATJ.size(2)})).squeeze(1);
  const at::Tensor scores_AV = scores(frame_AJ + state.joint_AJ);
  const int64_t num_labels = options_.num_labels();
  Step step;
  step.label_A = scores_AV.narrow(1, 0, num_labels).argmax(1);
  step.is_blank_A = step.label_A.eq(options_.blank_label());
  const auto num_durations = static_cast<int64_t>(options_.durations.size());
  if (num_durations == 0) {
    step.jump_A = step.is_blank_A.to(at::kLong);
  } else {
    const at::Tensor best_A = scores_AV.narrow(1, num_labels, num_durations).argmax(1);
    step.jump_A = state.durations.index_select(0, best_A);
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
  State state = empty_state(audios);
  feed(state, at::full_like(length_A, options_.blank_label()), {});  // it begins a text
  at::Tensor frame_A = at::zeros_like(length_A), count_A = at::zeros_like(length_A);
  std::vector<at::Tensor> labels, frames;  // [A] of each step; -1: no label
  const int64_t most = options_.limits_steps ? options_.max_symbols * joint_ATJ.size(1) - 1
                                             : std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < most; ++i) {
    const Step step = this->step(joint_ATJ, state, frame_A, count_A);
    const at::Tensor active_A = frame_A.lt(length_A);
    const at::Tensor emits_A = active_A.logical_and(step.is_blank_A.logical_not());
    labels.push_back(at::where(emits_A, step.label_A, -1));
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
      if (label[n][a] < 0) continue;
      found[static_cast<size_t>(a)].labels.push_back(label[n][a]);
      found[static_cast<size_t>(a)].frames.push_back(frame[n][a]);
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

at::Tensor TransducerDecoder::predictions(const at::Tensor& labels_AU,
                                          bool begins_with_blank) const {
  const at::Tensor embedded_AUP = at::embedding(embed_, labels_AU);
  const int64_t audios = labels_AU.size(0), width = options_.pred_hidden;
  const at::Tensor first_A1P =
      begins_with_blank ? embed_.select(0, options_.blank_label()).expand({audios, 1, width})
                        : embed_.new_zeros({audios, 1, width});
  const at::Tensor all_AUP = at::cat({first_A1P, embedded_AUP}, 1);
  State state = empty_state(audios);
  std::vector<at::Tensor> outputs;
  for (int64_t u = 0; u < all_AUP.size(1); ++u) {
    outputs.push_back(recur(all_AUP.select(1, u), {}, state));
  }
  return at::stack(outputs, 1);
}

at::Tensor TransducerDecoder::project_predictions(const at::Tensor& predictions_AUP) const {
  return at::linear(predictions_AUP, pred_weight_, pred_bias_);
}

at::Tensor TransducerDecoder::project_frames(const at::Tensor& frames_ATD) const {
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
