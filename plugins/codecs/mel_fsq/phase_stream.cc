#include "phase_stream.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "s2s/error.h"

namespace s2s::mel_fsq {

namespace {

constexpr float kMomentum = 0.99F;
constexpr float kMinWeight = 1e-3F;
constexpr float kSmallestNorm = 1e-12F;

constexpr const char* kProgress = "progress";  // whether a block is held, samples to drop
constexpr const char* kCommitted = "committed";
constexpr const char* kWeight = "committed_weight";
constexpr const char* kMagnitudes = "magnitudes";
constexpr const char* kSpectra = "spectra";
constexpr const char* kAnalysed = "analysed";

using Complex = c10::complex<float>;

}  // namespace

PhaseStream::PhaseStream(const Framing& framing, int64_t batch_size, int64_t iterations)
    : framing_(framing),
      batch_(batch_size),
      iterations_(iterations),
      span_((kColumns - 1) * framing.hop + framing.n_fft),
      overhang_left_(framing.padding),
      committed_(static_cast<size_t>(batch_size * span_), 0.0F),
      committed_weight_(static_cast<size_t>(span_), 0.0F) {
  const auto n = static_cast<double>(framing.n_fft);
  for (int64_t i = 0; i < framing.n_fft; ++i) {
    const double hann = 0.5 - 0.5 * std::cos(2 * M_PI * static_cast<double>(i) / n);
    window_.push_back(static_cast<float>(hann));
  }
  const std::vector<int64_t> sizes = {batch_, kColumns, framing.num_bins()};
  magnitudes_BCN_ = at::zeros(sizes, at::kFloat);
  spectra_BCN_ = at::zeros(sizes, at::kComplexFloat);
  analysed_BCN_ = at::zeros(sizes, at::kComplexFloat);
}

at::Tensor PhaseStream::push(const at::Tensor& magnitudes_BCN) {
  S2S_ASSERT(magnitudes_BCN.size(0) == batch_ && magnitudes_BCN.size(1) == kColumnsPerFrame,
             "a block has the stream's batch size and four columns");
  magnitudes_BCN_.slice(1, kColumnsPerFrame).copy_(magnitudes_BCN);
  analysed_BCN_.slice(1, kColumnsPerFrame).zero_();
  continue_phases();
  improve(holds_block_ ? 0 : kColumnsPerFrame, kColumns);
  at::Tensor samples_BS = holds_block_ ? commit_older_block() : at::zeros({batch_, 0}, at::kFloat);
  shift();
  holds_block_ = true;
  return samples_BS;
}

at::Tensor PhaseStream::finish() {
  if (!holds_block_) return at::zeros({batch_, 0}, at::kFloat);
  improve(0, kColumnsPerFrame);
  const at::Tensor block_BS = commit_older_block();
  shift();
  holds_block_ = false;
  return at::cat({block_BS, emit(framing_.padding)}, 1);
}

TensorMap PhaseStream::state() const {
  return {{kProgress, at::tensor({int64_t{holds_block_}, overhang_left_}, at::kLong)},
          {kCommitted, at::tensor(committed_, at::kFloat)},
          {kWeight, at::tensor(committed_weight_, at::kFloat)},
          {kMagnitudes, magnitudes_BCN_.clone()},
          {kSpectra, at::view_as_real(spectra_BCN_).clone()},
          {kAnalysed, at::view_as_real(analysed_BCN_).clone()}};
}

void PhaseStream::restore(const TensorMap& state) {
  const auto read = [&](const char* name, std::vector<float>& values) {
    const at::Tensor saved = state.at(name).to(at::kCPU, at::kFloat).contiguous();
    S2S_ASSERT(saved.numel() == static_cast<int64_t>(values.size()), "a state has these sizes");
    std::copy_n(saved.const_data_ptr<float>(), values.size(), values.begin());
  };
  const at::Tensor progress = state.at(kProgress).cpu();
  holds_block_ = progress[0].item<int64_t>() != 0;
  overhang_left_ = progress[1].item<int64_t>();
  read(kCommitted, committed_);
  read(kWeight, committed_weight_);
  magnitudes_BCN_.copy_(state.at(kMagnitudes));
  at::view_as_real(spectra_BCN_).copy_(state.at(kSpectra));
  at::view_as_real(analysed_BCN_).copy_(state.at(kAnalysed));
}

std::vector<std::string> PhaseStream::state_names() {
  return {kProgress, kCommitted, kWeight, kMagnitudes, kSpectra, kAnalysed};
}

at::Tensor PhaseStream::synthesized(int64_t first, int64_t last) const {
  return at::fft_irfft(spectra_BCN_.slice(1, first, last), framing_.n_fft, -1).contiguous();
}

void PhaseStream::overlap_add(const at::Tensor& pieces_BCL, int64_t first,
                              std::vector<float>& sound) const {
  const float* piece = pieces_BCL.const_data_ptr<float>();
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t c = 0; c < pieces_BCL.size(1); ++c, piece += framing_.n_fft) {
      float* at = sound.data() + b * span_ + (first + c) * framing_.hop;
      for (int64_t i = 0; i < framing_.n_fft; ++i) at[i] += piece[i] * window_[size_t(i)];
    }
  }
}

void PhaseStream::add_weights(int64_t first, int64_t last, std::vector<float>& weight) const {
  for (int64_t c = first; c < last; ++c) {
    float* at = weight.data() + c * framing_.hop;
    for (size_t i = 0; i < window_.size(); ++i) at[i] += window_[i] * window_[i];
  }
}

at::Tensor PhaseStream::stretches(const std::vector<float>& sound, const std::vector<float>& weight,
                                  int64_t first, int64_t last) const {
  at::Tensor out_BCL = at::empty({batch_, last - first, framing_.n_fft}, at::kFloat);
  float* out = out_BCL.mutable_data_ptr<float>();
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t c = first; c < last; ++c, out += framing_.n_fft) {
      const float* from = sound.data() + b * span_ + c * framing_.hop;
      const float* under = weight.data() + c * framing_.hop;
      for (int64_t i = 0; i < framing_.n_fft; ++i) {
        out[i] = from[i] / std::max(under[i], kMinWeight) * window_[size_t(i)];
      }
    }
  }
  return out_BCL;
}

void PhaseStream::continue_phases() {
  std::vector<float> sound = committed_;
  std::vector<float> weight = committed_weight_;
  if (holds_block_) {
    overlap_add(synthesized(0, kColumnsPerFrame), 0, sound);
    add_weights(0, kColumnsPerFrame, weight);
  }
  for (int64_t c = kColumnsPerFrame; c < kColumns; ++c) {
    const at::Tensor so_far_BCL = stretches(sound, weight, c, c + 1);
    impose_magnitudes(at::fft_rfft(so_far_BCL), c, 0);
    overlap_add(synthesized(c, c + 1), c, sound);
    add_weights(c, c + 1, weight);
  }
  analysed_BCN_.slice(1, kColumnsPerFrame).zero_();
}

void PhaseStream::improve(int64_t first, int64_t last) {
  std::vector<float> weight = committed_weight_;
  add_weights(first, last, weight);
  for (int64_t i = 0; i < iterations_; ++i) {
    std::vector<float> sound = committed_;
    overlap_add(synthesized(first, last), first, sound);
    const at::Tensor analysed = at::fft_rfft(stretches(sound, weight, first, last));
    impose_magnitudes(analysed, first, i == 0 ? 0 : kMomentum);
  }
}

/// Combines the magnitudes of the columns from `first` on with the phases of the analysis,
/// extrapolated by the change since the previous analysis.
void PhaseStream::impose_magnitudes(const at::Tensor& analysed, int64_t first, float momentum) {
  const at::Tensor now_BCN = analysed.contiguous();
  const int64_t bins = framing_.num_bins();
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t from = (b * kColumns + first) * bins;
    const Complex* now = now_BCN.const_data_ptr<Complex>() + b * now_BCN.size(1) * bins;
    Complex* last = analysed_BCN_.mutable_data_ptr<Complex>() + from;
    Complex* spectrum = spectra_BCN_.mutable_data_ptr<Complex>() + from;
    const float* magnitude = magnitudes_BCN_.const_data_ptr<float>() + from;
    for (int64_t i = 0; i < now_BCN.size(1) * bins; ++i) {
      const float re = now[i].real() + momentum * (now[i].real() - last[i].real());
      const float im = now[i].imag() + momentum * (now[i].imag() - last[i].imag());
      const float norm = std::sqrt(re * re + im * im);
      const float gain = magnitude[i] / norm;
      spectrum[i] = norm > kSmallestNorm ? Complex(re * gain, im * gain) : Complex(magnitude[i], 0);
      last[i] = now[i];
    }
  }
}

at::Tensor PhaseStream::commit_older_block() {
  overlap_add(synthesized(0, kColumnsPerFrame), 0, committed_);
  add_weights(0, kColumnsPerFrame, committed_weight_);
  return emit(framing_.frame_samples());
}

/// Returns the first samples of the final audio, without those before its start.
at::Tensor PhaseStream::emit(int64_t num_samples) {
  const int64_t dropped = std::min(overhang_left_, num_samples);
  overhang_left_ -= dropped;
  at::Tensor out_BS = at::empty({batch_, num_samples - dropped}, at::kFloat);
  float* out = out_BS.mutable_data_ptr<float>();
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t i = dropped; i < num_samples; ++i) {
      *out++ =
          committed_[size_t(b * span_ + i)] / std::max(committed_weight_[size_t(i)], kMinWeight);
    }
  }
  return out_BS;
}

/// Advances by one block: the newer block becomes the older one.
void PhaseStream::shift() {
  const int64_t step = framing_.frame_samples();
  const auto move = [&](float* row) {
    std::copy(row + step, row + span_, row);
    std::fill(row + span_ - step, row + span_, 0.0F);
  };
  for (int64_t b = 0; b < batch_; ++b) move(committed_.data() + b * span_);
  move(committed_weight_.data());
  for (at::Tensor* columns : {&magnitudes_BCN_, &spectra_BCN_, &analysed_BCN_}) {
    columns->slice(1, 0, kColumnsPerFrame).copy_(columns->slice(1, kColumnsPerFrame));
  }
}

}  // namespace s2s::mel_fsq
