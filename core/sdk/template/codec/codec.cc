#include "codec.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"

namespace PLUGIN_NAME {
namespace {

constexpr double kQuietest = -80;  // dB; lower levels are silence
constexpr double kLowestHz = 80;

/// Each frame is decoded independently, so `finish` has nothing to return.
class Stream : public s2s::CodecStream {
 public:
  Stream(Bands& bands, int64_t batch_size)
      : bands_(bands),
        batch_size_(batch_size),
        mark_(bands, s2s::StreamMark::Pushes::kCodes, batch_size) {}
  at::Tensor push(const at::Tensor& codes_BKT) override { return bands_.decode(codes_BKT); }
  at::Tensor finish() override { return at::zeros({batch_size_, 0}); }
  /// It remembers nothing: its state says only which stream it is of.
  s2s::TensorMap state() const override { return mark_.on({}); }
  void restore(const s2s::TensorMap& state) override { mark_.check(state); }

 private:
  Bands& bands_;
  int64_t batch_size_;
  s2s::StreamMark mark_;
};

}  // namespace

Bands::Bands(const Options& options) : options_(options), frame_(options.sample_rate * 2 / 25) {
  register_buffer("bank", bank_KF_, /*persistent=*/false);
  register_buffer("phase", phase_F2_, /*persistent=*/false);
  Bands::reset_buffers();
}

void Bands::reset_buffers() {
  const int64_t num_frequencies = frame_ / 2 + 1;
  const double hz_per_bin = static_cast<double>(options_.sample_rate) / static_cast<double>(frame_);
  const double octaves = std::log2(static_cast<double>(options_.sample_rate) / 2 / kLowestHz);
  const at::Tensor hz_F = at::arange(num_frequencies, at::kDouble) * hz_per_bin;
  const at::Tensor band_F = (at::log2(hz_F.clamp_min(kLowestHz) / kLowestHz) / octaves *
                             static_cast<double>(options_.num_bands))
                                .floor()
                                .clamp_max(static_cast<double>(options_.num_bands - 1));
  const at::Tensor band_K1 = at::arange(options_.num_bands, at::kDouble).unsqueeze(1);
  bank_KF_ = band_F.unsqueeze(0).eq(band_K1).to(at::kFloat);
  // Pseudo-random phases, which avoid an audible pattern.
  const at::Tensor angle_F = at::arange(num_frequencies, at::kDouble).square() * 2.399963;
  phase_F2_ = at::stack({at::cos(angle_F), at::sin(angle_F)}, -1).to(at::kFloat);
}

s2s::CodecShape Bands::shape() const {
  return {options_.sample_rate, frame_, options_.num_bands, options_.num_levels};
}

std::pair<at::Tensor, at::Tensor> Bands::encode(const at::Tensor& audio_BS,
                                                const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto [whole_BS, frames_B] = s2s::whole_frames(audio_BS, lengths_B, frame_);
  const at::Tensor spectrum_BTF =
      at::fft_rfft(whole_BS.view({whole_BS.size(0), -1, frame_})) / static_cast<double>(frame_);
  const at::Tensor power_BTF = at::view_as_real(spectrum_BTF).square().sum(-1);
  const at::Tensor loudness_BTK = at::matmul(power_BTF, bank_KF_.t()).clamp_min(1e-20).log10() * 10;
  const double step = -kQuietest / static_cast<double>(options_.num_levels - 1);
  const at::Tensor level_BTK = ((loudness_BTK - kQuietest) / step).round();
  const at::Tensor codes_BKT = level_BTK.clamp(0, static_cast<double>(options_.num_levels - 1))
                                   .to(at::kLong)
                                   .transpose(1, 2);
  return {s2s::zero_beyond(codes_BKT, frames_B, 2).contiguous(), frames_B};
}

at::Tensor Bands::decode(const at::Tensor& codes_BKT) {
  const at::NoGradGuard no_grad;
  const double step = -kQuietest / static_cast<double>(options_.num_levels - 1);
  const at::Tensor level_BTK = codes_BKT.transpose(1, 2).to(at::kFloat);
  const at::Tensor power_BTK =
      at::pow(10.0, (level_BTK * step + kQuietest) / 10).masked_fill(level_BTK.eq(0), 0);
  // Distributes the power of a band over its frequencies.
  const at::Tensor share_KF = bank_KF_ / bank_KF_.sum(1, /*keepdim=*/true).clamp_min(1);
  const at::Tensor size_BTF = at::matmul(power_BTK, share_KF).sqrt();
  const at::Tensor spectrum_BTF =
      at::view_as_complex((size_BTF.unsqueeze(-1) * phase_F2_).contiguous());
  const at::Tensor audio_BTN = at::fft_irfft(spectrum_BTF, frame_) * static_cast<double>(frame_);
  return audio_BTN.flatten(1);
}

std::unique_ptr<s2s::CodecStream> Bands::open_stream(int64_t batch_size) {
  return std::make_unique<Stream>(*this, batch_size);
}

at::Tensor Bands::silence_codes() { return at::zeros({options_.num_bands}, at::kLong); }

std::unique_ptr<s2s::Codec> create(const s2s::Config& options, const s2s::ModelContext& context) {
  const auto read = s2s::read_options<Options>(options, context.path);
  if (read.sample_rate * 2 % 25 != 0) {
    throw s2s::Error(s2s::ExitCode::kConfig, "PLUGIN_NAME/sample-rate",
                     context.path + ".sample_rate = " + std::to_string(read.sample_rate) +
                         "; expected a multiple of 25 Hz, for whole samples in 80 ms");
  }
  return std::make_unique<Bands>(read);
}

}  // namespace PLUGIN_NAME
