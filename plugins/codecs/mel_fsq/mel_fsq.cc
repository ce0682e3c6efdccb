#include "mel_fsq.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "mel_fsq_errors.h"
#include "phase_stream.h"
#include "s2s/nn/codec_streams.h"
#include "s2s/nn/mel.h"
#include "s2s/nn/rows.h"

namespace s2s::mel_fsq {

namespace {

/// Mel power of silence; far above 16-bit rounding noise.
constexpr double kFloor = 1e-8;
constexpr int64_t kMelInverseIterations = 10;
constexpr double kTiny = 1e-20;

/// Computes the magnitudes of a spectrum from its mel bands. Multiplicative updates of a
/// non-negative power spectrum reduce the Kullback-Leibler divergence of its bands from the given
/// ones. Source: Lee and Seung 2001; the bank is the fixed factor.
class MelInverse {
 public:
  MelInverse(const at::Tensor& bank_FN, int64_t iterations)
      : bank_FN_(bank_FN.contiguous()),
        bank_NF_(bank_FN.t().contiguous()),
        iterations_(iterations) {
    const at::Tensor area_F1 = bank_FN_.sum(1, /*keepdim=*/true).clamp_min(kTiny);
    const at::Tensor share_FN = bank_FN_ / area_F1;  // each row sums to one
    // The power of a band divided by its area is the mean power of its bins.
    start_FN_ = share_FN / share_FN.sum(0).clamp_min(kTiny) / area_F1;
    weight_N_ = bank_FN_.sum(0).clamp_min(kTiny);
  }

  /// mel power [..., F] -> magnitudes [..., N].
  at::Tensor operator()(const at::Tensor& mel_F) const {
    at::Tensor power_N = at::matmul(mel_F, start_FN_);
    for (int64_t i = 0; i < iterations_; ++i) {
      const at::Tensor ratio_F = mel_F / (at::matmul(power_N, bank_NF_) + kTiny);
      power_N = power_N * at::matmul(ratio_F, bank_FN_) / weight_N_;
    }
    return power_N.sqrt_();
  }

 private:
  at::Tensor bank_FN_, bank_NF_;
  at::Tensor start_FN_;  // distributes each band over its bins
  at::Tensor weight_N_;  // sum of the bank in each bin
  int64_t iterations_;
};

/// Decodes frame by frame: tokens to log-mel to magnitudes to audio.
class MelFsqStream final : public CodecStream {
 public:
  MelFsqStream(Codec& codec, const Framing& framing, const MelFsqOptions& options,
               const Quantizer& quantizer, Statistics statistics, const at::Tensor& bank_FN,
               const at::Tensor& silence_K, int64_t batch_size)
      : num_mels_(options.num_mels),
        quantizer_(quantizer),
        statistics_(std::move(statistics)),
        silence_K_(silence_K),
        inverse_(bank_FN, kMelInverseIterations),
        phases_(framing, batch_size, options.decoder_iterations),
        window_power_(3.0 / 8 * static_cast<double>(framing.n_fft)),
        batch_(batch_size),
        mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    const at::NoGradGuard no_grad;
    const at::Tensor codes = codes_BKT.to(at::kCPU, at::kLong);
    check_range(codes);
    std::vector<at::Tensor> pieces = {at::zeros({batch_, 0}, at::kFloat)};
    for (int64_t t = 0; t < codes.size(2); ++t) {
      pieces.push_back(phases_.push(magnitudes(codes.slice(2, t, t + 1))));
    }
    return at::cat(pieces, 1);
  }

  at::Tensor finish() override {
    const at::NoGradGuard no_grad;
    return phases_.finish();
  }

  TensorMap state() const override { return mark_.on(phases_.state()); }

  void restore(const TensorMap& state) override {
    mark_.check(state, PhaseStream::state_names());
    phases_.restore(state);
  }

 private:
  void check_range(const at::Tensor& codes) const {
    if (codes.numel() == 0) return;
    const int64_t size = quantizer_.codebook_size();
    for (const int64_t code : {codes.min().item<int64_t>(), codes.max().item<int64_t>()}) {
      if (code < 0 || code >= size) throw code_out_of_range(code, size);
    }
  }

  /// codes [B, K, 1] -> [B, columns, N]. A frame of silence codes gives digital silence.
  at::Tensor magnitudes(const at::Tensor& codes_BK1) const {
    const at::Tensor log_mel_B1F = quantizer_.decode(codes_BK1, statistics_);
    const at::Tensor power_BCF =
        (log_mel_B1F.view({batch_, kColumnsPerFrame, num_mels_}).exp() - kFloor).clamp_min(0) *
        window_power_;
    const at::Tensor silent_B = codes_BK1.squeeze(-1).eq(silence_K_).all(1);
    return inverse_(power_BCF).masked_fill(silent_B.view({-1, 1, 1}), 0);
  }

  int64_t num_mels_;
  const Quantizer& quantizer_;
  Statistics statistics_;
  at::Tensor silence_K_;
  MelInverse inverse_;
  PhaseStream phases_;
  double window_power_;
  int64_t batch_;
  StreamMark mark_;
};

MelBank bank_of(const Framing& framing, int64_t num_mels) {
  MelBank bank;
  bank.sample_rate_hz = framing.sample_rate_hz;
  bank.n_fft = framing.n_fft;
  bank.num_mels = num_mels;
  return bank;
}

}  // namespace

MelFsq::MelFsq(const MelFsqOptions& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      framing_(framing_for(options.sample_rate.value_or(16000))),
      quantizer_(kColumnsPerFrame, options.num_mels, options.num_groups, options.levels,
                 options.clip) {
  register_buffer("mean", mean_F_);
  register_buffer("std", std_F_);
  register_buffer("order", order_F_);
  register_buffer("mel_bank", bank_FN_, /*persistent=*/false);
  register_buffer("window", window_, /*persistent=*/false);
  MelFsq::reset_buffers();
}

MelFsq::~MelFsq() = default;

void MelFsq::reset_buffers() {
  const int64_t elements = kColumnsPerFrame * options_.num_mels;
  fitted_ = false;
  mean_F_ = at::zeros({elements}, at::kFloat);
  std_F_ = at::zeros({elements}, at::kFloat);
  order_F_ = at::zeros({elements}, at::kLong);
  bank_FN_ = mel_filterbank(bank_of(framing_, options_.num_mels));
  window_ = stft_window("hann", framing_.n_fft, /*periodic=*/true);
}

CodecShape MelFsq::shape() const {
  return {framing_.sample_rate_hz, framing_.frame_samples(), options_.num_groups,
          quantizer_.codebook_size()};
}

bool MelFsq::is_fitted() const {
  // Read once: on a device the host waits for it.
  if (!fitted_) fitted_ = std_F_.gt(0).any().item<bool>();
  return fitted_;
}

void MelFsq::check_fitted() const {
  if (!is_fitted()) throw not_fitted(path_);
}

at::Tensor MelFsq::log_mel(const at::Tensor& audio_BS) const {
  const int64_t padding = framing_.padding;
  return log_mel_of(at::constant_pad_nd(audio_BS.to(at::kFloat), {padding, padding}),
                    audio_BS.size(1) / framing_.hop);
}

at::Tensor MelFsq::log_mel_of(const at::Tensor& padded_BS, int64_t num_columns) const {
  const at::Tensor columns_BTL = padded_BS.unfold(1, framing_.n_fft, framing_.hop);
  const at::Tensor spectrum = at::fft_rfft(columns_BTL.slice(1, 0, num_columns) * window_);
  const at::Tensor power_BTN = at::view_as_real(spectrum).square().sum(-1);
  const double window_power = 3.0 / 8 * static_cast<double>(framing_.n_fft);
  const at::Tensor mel_BTF = at::matmul(power_BTN, bank_FN_.t()) / window_power;
  return mel_BTF.clamp_min(kFloor).log().view(
      {padded_BS.size(0), -1, kColumnsPerFrame * options_.num_mels});
}

/// Keeps the samples that the windows of later frames cover.
class MelFsq::EncoderStream final : public CodecEncoderStream {
 public:
  EncoderStream(MelFsq& codec, int64_t batch_size)
      : codec_(codec),
        batch_(batch_size),
        held_BS_(at::zeros({batch_size, codec.framing_.padding}, codec.window_.options())),
        mark_(codec, StreamMark::Pushes::kAudio, batch_size) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::NoGradGuard no_grad;
    take(audio_BS);
    const int64_t beyond = held_BS_.size(1) - codec_.framing_.n_fft;
    return codes(beyond < 0 ? 0 : (beyond / codec_.framing_.hop + 1) / kColumnsPerFrame);
  }

  at::Tensor finish() override {
    const at::NoGradGuard no_grad;
    const int64_t frame = codec_.framing_.frame_samples();
    const int64_t frames = (heard_ + frame - 1) / frame;
    held_BS_ =
        at::constant_pad_nd(held_BS_, {0, frames * frame - heard_ + codec_.framing_.padding});
    return codes(frames - encoded_);
  }

  TensorMap state() const override {
    return mark_.on(
        {{"held", held_BS_.clone()}, {"progress", at::tensor({heard_, encoded_}, at::kLong)}});
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {"held", "progress"});
    held_BS_ = state.at("held").to(held_BS_.options()).clone();
    const std::vector<int64_t> progress = to_vector(state.at("progress"));
    heard_ = progress.at(0);
    encoded_ = progress.at(1);
  }

 private:
  void take(const at::Tensor& audio_BS) {
    heard_ += audio_BS.size(1);
    held_BS_ = at::cat({held_BS_, audio_BS.to(held_BS_.options())}, 1);
  }

  /// The codes of the next frames.
  at::Tensor codes(int64_t frames) {
    const auto options = held_BS_.options().dtype(at::kLong);
    if (frames == 0) return at::empty({batch_, codec_.options_.num_groups, 0}, options);
    const at::Tensor log_mel_BTF = codec_.log_mel_of(held_BS_, frames * kColumnsPerFrame);
    held_BS_ = held_BS_.slice(1, frames * codec_.framing_.frame_samples()).clone();
    encoded_ += frames;
    return codec_.quantizer_.encode(log_mel_BTF, codec_.statistics());
  }

  const MelFsq& codec_;
  int64_t batch_;
  at::Tensor held_BS_;  // from the first window of the next frame on
  int64_t heard_ = 0;   // samples
  int64_t encoded_ = 0;
  StreamMark mark_;
};

std::unique_ptr<CodecEncoderStream> MelFsq::open_encoder_stream(int64_t batch_size) {
  check_fitted();
  return std::make_unique<EncoderStream>(*this, batch_size);
}

std::pair<at::Tensor, at::Tensor> MelFsq::encode(const at::Tensor& audio_BS,
                                                 const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  check_fitted();
  const auto [whole_BS, frames_B] = whole_frames(audio_BS, lengths_B, framing_.frame_samples());
  const at::Tensor codes_BKT = quantizer_.encode(log_mel(whole_BS), statistics());
  return {zero_beyond(codes_BKT, frames_B, 2), frames_B};
}

at::Tensor MelFsq::decode(const at::Tensor& codes_BKT) {
  const auto stream = open_stream(codes_BKT.size(0));
  const at::Tensor first_BS = stream->push(codes_BKT);
  return at::cat({first_BS, stream->finish()}, 1).to(codes_BKT.device());
}

std::unique_ptr<CodecStream> MelFsq::open_stream(int64_t batch_size) {
  check_fitted();
  const Statistics on_cpu = {mean_F_.cpu(), std_F_.cpu(), order_F_.cpu()};
  return std::make_unique<MelFsqStream>(*this, framing_, options_, quantizer_, on_cpu,
                                        bank_FN_.cpu(), silence_codes().cpu(), batch_size);
}

at::Tensor MelFsq::silence_codes() {
  const int64_t frame = framing_.frame_samples();
  const at::Tensor silence_BS = at::zeros({1, frame}, mean_F_.options());
  const at::Tensor length_B = at::full({1}, frame, order_F_.options());
  return encode(silence_BS, length_B).first.select(2, 0).squeeze(0);
}

bool MelFsq::fit(const std::function<at::Tensor()>& next) {
  const at::NoGradGuard no_grad;
  StatisticsFit sums(kColumnsPerFrame * options_.num_mels);
  const double log_floor = std::log(kFloor);
  for (at::Tensor clip_S = next(); clip_S.defined(); clip_S = next()) {
    const int64_t whole = clip_S.size(0) / framing_.frame_samples() * framing_.frame_samples();
    if (whole == 0) continue;
    const at::Tensor clip_BS = clip_S.slice(0, 0, whole).unsqueeze(0).to(bank_FN_.device());
    const at::Tensor log_mel_TF = log_mel(clip_BS).squeeze(0);
    const at::Tensor silent_T = log_mel_TF.le(log_floor + 1e-4).all(1);
    sums.add(quantizer_.transform(log_mel_TF), silent_T);
  }
  if (!sums.has_speech()) throw no_audio(path_);
  const Statistics measured = sums.finish();
  mean_F_ = measured.mean_F.to(mean_F_.device());
  std_F_ = measured.std_F.to(std_F_.device());
  order_F_ = measured.order_F.to(order_F_.device());
  return true;
}

}  // namespace s2s::mel_fsq
