#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "nn/kernels/affine.h"
#include "nn/speech/channels_last.h"
#include "nn/speech/lstm_output.h"
#include "s2s/nn/audio.h"

namespace s2s {

StreamLstm::StreamLstm(int64_t channels, int64_t num_layers, const WeightForm& form,
                       const std::string& prefix)
    : channels_(channels), num_layers_(num_layers), weights_(static_cast<size_t>(4 * num_layers)) {
  const double bound = 1 / std::sqrt(static_cast<double>(channels));
  for (size_t i = 0; i < weights_.size(); ++i) {
    const char* const kinds[] = {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"};
    const std::string name = prefix + kinds[i % 4] + std::to_string(i / 4);
    if (form.trains) {
      std::vector<int64_t> sizes = {4 * channels};
      if (i % 4 < 2) sizes.push_back(channels);
      register_parameter(name, weights_[i], sizes, {Init::Kind::kUniform, bound});
    } else {
      register_buffer(name, weights_[i]);
    }
  }
  if (!form.trains) StreamLstm::reset_buffers();
}

StreamLstm::~StreamLstm() = default;

void StreamLstm::reset_buffers() {
  if (named_parameters().size() == weights_.size()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(channels_));
  for (size_t i = 0; i < weights_.size(); ++i) {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{i});
    std::vector<int64_t> sizes = {4 * channels_};
    if (i % 4 < 2) sizes.push_back(channels_);
    weights_[i] = at::empty(sizes, at::kFloat).uniform_(-bound, bound, generator);
  }
}

namespace {

/// at::lstm of [T, B, C] without gradients; the states [L, B, C] go on in their place. oneDNN's
/// LSTM packs the weights in each call, which takes longer than a few positions.
at::Tensor unpacked_lstm(const at::Tensor& x_TBC, const at::Tensor& hidden_LBC,
                         const at::Tensor& cell_LBC, const std::vector<at::Tensor>& weights) {
  at::Tensor y_TBC = x_TBC;
  for (int64_t layer = 0; layer < hidden_LBC.size(0); ++layer) {
    const at::Tensor* const of_layer = &weights[static_cast<size_t>(4 * layer)];
    const at::Tensor gates_TBG = affine(y_TBC, of_layer[0], of_layer[2] + of_layer[3]);
    const at::Tensor out_TBC = at::empty(y_TBC.sizes(), y_TBC.options());
    at::Tensor hidden_BC = hidden_LBC[layer], cell_BC = cell_LBC[layer];
    for (int64_t t = 0; t < y_TBC.size(0); ++t) {
      hidden_BC = lstm_output(affine(hidden_BC, of_layer[1]) + gates_TBG[t], cell_BC);
      out_TBC[t].copy_(hidden_BC);
    }
    hidden_LBC[layer].copy_(hidden_BC);
    cell_LBC[layer].copy_(cell_BC);
    y_TBC = out_TBC;
  }
  return y_TBC;
}

}  // namespace

at::Tensor StreamLstm::push(const at::Tensor& x_BCT, StreamState& state, bool) const {
  if (x_BCT.size(2) == 0) return x_BCT;
  at::Tensor& hidden = state.kept(*this, 0);
  at::Tensor& cell = state.kept(*this, 1);
  if (!hidden.defined()) {
    hidden = cell = x_BCT.new_zeros({num_layers_, x_BCT.size(0), channels_});
  }
  const at::Tensor x_TBC = x_BCT.permute({2, 0, 1});
  constexpr int64_t kFew = 16;
  if (uses_channels_last(x_BCT) && x_BCT.size(2) <= kFew) {
    hidden = hidden.clone();
    cell = cell.clone();
    return x_BCT + unpacked_lstm(x_TBC, hidden, cell, weights_).permute({1, 2, 0});
  }
  const auto [y_TBC, h, c] = at::lstm(x_TBC, {hidden, cell}, weights_,
                                      /*has_biases=*/true, num_layers_, /*dropout=*/0.0,
                                      /*train=*/weights_.front().requires_grad(),
                                      /*bidirectional=*/false,
                                      /*batch_first=*/false);
  hidden = h;
  cell = c;
  return x_BCT + y_TBC.permute({1, 2, 0});
}

}  // namespace s2s
