#include "nemo_audio_codec.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <vector>

#include "nemo_audio_codec_errors.h"
#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s::nemo_audio_codec {
namespace {

/// Frames that a causal half computes at once, so that memory does not grow with the recording.
constexpr int64_t kPieceFrames = 125;
constexpr int64_t kSilenceSeconds = 2;

/// Applies `push` to pieces of x along dim 2, of `size` each, and concatenates what they give.
template <class Push>
at::Tensor piece_by_piece(const at::Tensor& x, int64_t size, const Push& push) {
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < x.size(2); begin += size) {
    pieces.push_back(push(x.slice(2, begin, begin + size)));
  }
  return at::cat(pieces, 2);
}

std::vector<int64_t> reversed(std::vector<int64_t> rates) { return {rates.rbegin(), rates.rend()}; }

}  // namespace

NemoAudioCodec::NemoAudioCodec(const NemoAudioCodecOptions& options, std::string weights_path)
    : options_(options),
      weights_path_(std::move(weights_path)),
      encoder_(options.audio_encoder),
      quantizer_(options.vector_quantizer.num_groups, options.vector_quantizer.num_levels_per_group,
                 options.vector_quantizer.eps),
      decoder_(options.audio_decoder) {
  register_block("audio_encoder", encoder_);
  register_block("audio_decoder", decoder_);
}

NemoAudioCodec::~NemoAudioCodec() = default;

CodecShape NemoAudioCodec::shape() const {
  return {options_.sample_rate, options_.samples_per_frame, options_.vector_quantizer.num_groups,
          quantizer_.codebook_size()};
}

at::Device NemoAudioCodec::device() { return named_buffers().front().tensor->device(); }

void NemoAudioCodec::check_codes(const at::Tensor& codes) const {
  if (codes.numel() == 0 || !codes.device().is_cpu()) return;  // a device would wait
  for (const int64_t code : {codes.min().item<int64_t>(), codes.max().item<int64_t>()}) {
    if (code < 0 || code >= quantizer_.codebook_size()) {
      throw code_error(code, quantizer_.codebook_size());
    }
  }
}

at::Tensor NemoAudioCodec::next_latents(const at::Tensor& audio_BS, StreamState& state) const {
  return piece_by_piece(
      audio_BS.unsqueeze(1), kPieceFrames * options_.samples_per_frame,
      [&](const at::Tensor& piece_B1S) { return encoder_(piece_B1S, Pass{state}); });
}

at::Tensor NemoAudioCodec::latents(const at::Tensor& audio_BS, const at::Tensor& frames_B) const {
  StreamState state;
  const EncoderOptions& half = options_.audio_encoder;
  if (half.causal) return zero_beyond(next_latents(audio_BS, state), frames_B, 2);
  const int64_t width = audio_BS.size(1) / options_.samples_per_frame;
  const int64_t frames = frames_B.max().item<int64_t>();  // as wide as the longest row
  const int64_t least = least_frames(half, half.rates, half.in_kernel_size, half.out_kernel_size);
  if (frames < least) throw too_short("encoder", frames, least);
  const at::Tensor longest_B1S =
      audio_BS.narrow(1, 0, frames * options_.samples_per_frame).unsqueeze(1);
  const at::Tensor latents_BDT =
      encoder_(longest_B1S, Pass{state, frames_B * options_.samples_per_frame});
  return at::constant_pad_nd(latents_BDT, {0, width - frames});
}

at::Tensor NemoAudioCodec::next_audio(const at::Tensor& latents_BDT, StreamState& state) const {
  return piece_by_piece(
             latents_BDT, kPieceFrames,
             [&](const at::Tensor& piece_BDT) { return decoder_(piece_BDT, Pass{state}); })
      .squeeze(1);
}

at::Tensor NemoAudioCodec::speak(const at::Tensor& latents_BDT, const at::Tensor& frames_B) const {
  StreamState state;
  const DecoderOptions& half = options_.audio_decoder;
  if (half.causal) {
    const at::Tensor audio_BS = next_audio(latents_BDT, state);
    if (!frames_B.defined()) return audio_BS;
    return zero_beyond(audio_BS, frames_B * options_.samples_per_frame, 1);
  }
  const int64_t frames = latents_BDT.size(2);
  const int64_t least =
      least_frames(half, reversed(half.rates), half.out_kernel_size, half.in_kernel_size);
  if (frames < least) throw too_short("decoder", frames, least);
  return decoder_(latents_BDT, Pass{state, frames_B}).squeeze(1);
}

std::pair<at::Tensor, at::Tensor> NemoAudioCodec::encode(const at::Tensor& audio_BS,
                                                         const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto [whole_BS, frames_B] =
      whole_frames(audio_BS.to(at::kFloat), lengths_B, options_.samples_per_frame);
  if (whole_BS.size(1) == 0) {
    const std::vector<int64_t> none = {whole_BS.size(0), shape().num_codebooks, 0};
    return {at::zeros(none, frames_B.options()), frames_B};
  }
  const at::Tensor codes_BKT = quantizer_.encode(latents(whole_BS, frames_B));
  return {zero_beyond(codes_BKT, frames_B, 2), frames_B};
}

at::Tensor NemoAudioCodec::decode(const at::Tensor& codes_BKT) {
  const at::NoGradGuard no_grad;
  check_codes(codes_BKT);
  if (codes_BKT.size(2) == 0) return at::zeros({codes_BKT.size(0), 0}, device());
  return speak(quantizer_.decode(codes_BKT), {});
}

/// Holds samples until a frame is complete.
class NemoAudioCodec::Listener final : public CodecEncoderStream {
 public:
  Listener(NemoAudioCodec& codec, int64_t batch_size)
      : codec_(codec),
        held_BS_(at::zeros({batch_size, 0}, at::TensorOptions(at::kFloat).device(codec.device()))),
        mark_(codec, StreamMark::Pushes::kAudio, batch_size) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::NoGradGuard no_grad;
    held_BS_ = at::cat({held_BS_, audio_BS.to(held_BS_.options())}, 1);
    const int64_t frame = codec_.options_.samples_per_frame;
    const int64_t whole = held_BS_.size(1) / frame * frame;
    const at::Tensor frames_BS = held_BS_.slice(1, 0, whole);
    held_BS_ = held_BS_.slice(1, whole).clone();
    if (whole == 0) {
      return at::empty({held_BS_.size(0), codec_.options_.vector_quantizer.num_groups, 0},
                       held_BS_.options().dtype(at::kLong));
    }
    return codec_.quantizer_.encode(codec_.next_latents(frames_BS, state_));
  }

  at::Tensor finish() override {
    const int64_t frame = codec_.options_.samples_per_frame;
    const int64_t missing = (frame - held_BS_.size(1) % frame) % frame;
    return push(at::zeros({held_BS_.size(0), missing}, held_BS_.options()));
  }

  TensorMap state() const override {
    TensorMap state = state_.save(codec_);
    state["held"] = held_BS_.clone();
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {"held"});
    state_.restore(codec_, state, codec_.device());
    held_BS_ = state.at("held").to(held_BS_.options()).clone();
  }

 private:
  NemoAudioCodec& codec_;
  at::Tensor held_BS_;
  StreamState state_;
  StreamMark mark_;
};

class NemoAudioCodec::Speaker final : public CodecStream {
 public:
  Speaker(NemoAudioCodec& codec, int64_t batch_size)
      : codec_(codec),
        batch_(batch_size),
        device_(codec.device()),
        mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    const at::NoGradGuard no_grad;
    codec_.check_codes(codes_BKT);
    if (codes_BKT.size(2) == 0) return finish();
    const at::Tensor codes = codes_BKT.to(device_, at::kLong);
    return codec_.next_audio(codec_.quantizer_.decode(codes), state_);
  }

  at::Tensor finish() override { return at::zeros({batch_, 0}, device_); }

  TensorMap state() const override { return mark_.on(state_.save(codec_)); }

  void restore(const TensorMap& state) override {
    mark_.check(state);
    state_.restore(codec_, state, device_);
  }

 private:
  NemoAudioCodec& codec_;
  int64_t batch_;
  at::Device device_;
  StreamState state_;
  StreamMark mark_;
};

/// A symmetric decoder sees the end before it speaks.
class NemoAudioCodec::LateSpeaker final : public CodecStream {
 public:
  LateSpeaker(NemoAudioCodec& codec, int64_t batch_size)
      : codec_(codec), batch_(batch_size), mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    codec_.check_codes(codes_BKT);
    pieces_BKT_.push_back(codes_BKT);
    return at::zeros({batch_, 0}, codec_.device());
  }

  at::Tensor finish() override {
    if (pieces_BKT_.empty()) return at::zeros({batch_, 0}, codec_.device());
    const at::Tensor codes_BKT = at::cat(pieces_BKT_, 2).to(codec_.device(), at::kLong);
    pieces_BKT_.clear();
    return codec_.decode(codes_BKT);
  }

  TensorMap state() const override {
    TensorMap state;
    if (!pieces_BKT_.empty()) state["codes"] = at::cat(pieces_BKT_, 2);
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state);
    pieces_BKT_.clear();
    const auto codes = state.find("codes");
    if (codes != state.end()) pieces_BKT_.push_back(codes->second.cpu());
  }

 private:
  NemoAudioCodec& codec_;
  int64_t batch_;
  std::vector<at::Tensor> pieces_BKT_;
  StreamMark mark_;
};

std::unique_ptr<CodecStream> NemoAudioCodec::open_stream(int64_t batch_size) {
  if (options_.audio_decoder.causal) return std::make_unique<Speaker>(*this, batch_size);
  return std::make_unique<LateSpeaker>(*this, batch_size);
}

std::unique_ptr<CodecEncoderStream> NemoAudioCodec::open_encoder_stream(int64_t batch_size) {
  if (!options_.audio_encoder.causal) return nullptr;
  return std::make_unique<Listener>(*this, batch_size);
}

at::Tensor NemoAudioCodec::silence_codes() {
  const int64_t frame = options_.samples_per_frame;
  const int64_t seconds = (kSilenceSeconds * options_.sample_rate + frame - 1) / frame;
  const EncoderOptions& half = options_.audio_encoder;
  const int64_t frames =
      std::max(seconds, least_frames(half, half.rates, half.in_kernel_size, half.out_kernel_size));
  const at::Tensor silence_BS = at::zeros({1, frames * frame}, device());
  const at::Tensor length_B = at::full({1}, frames * frame, at::kLong);
  return encode(silence_BS, length_B).first[0].select(1, frames - 1).contiguous();
}

NameMap NemoAudioCodec::checkpoint_names() const {
  NameMap names;
  const std::string stored[] = {"*.*.conv", "*.*.*.conv", "*.*.*.*.*.*.*.*.conv"};
  for (const std::string& conv : stored) {
    for (const auto& [ours, theirs] : {std::pair{".weight_g", ".parametrizations.weight.original0"},
                                       {".weight_v", ".parametrizations.weight.original1"}}) {
      names.rules.push_back({conv + ours, conv + theirs});
      names.other_spellings.push_back({conv + ours, conv + ours});  // torch's older weight_norm
    }
  }
  names.rules.push_back({"**", "**"});
  for (const char* part :
       {"vector_quantizer", "discriminator", "mel_loss_fn", "stft_loss_fn", "time_domain_loss_fn",
        "si_sdr_loss_fn", "gen_loss_fn", "disc_loss_fn", "feature_loss_fn", "mmd_loss_fn",
        "mmd_time_loss_fn", "slm_encoder", "slm_predictor", "slm_loss_fn", "speaker_encoder",
        "speaker_encoder_resampler", "encoder_noise"}) {
    names.ignored.push_back(std::string(part) + ".**");
  }
  return names;
}

std::unique_ptr<WeightSource> NemoAudioCodec::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> NemoAudioCodec::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  const at::Tensor& audio = inputs.at("audio");
  const auto [whole_BS, frames_B] = whole_frames(audio.reshape({audio.size(0), -1}),
                                                 inputs.at("lengths"), options_.samples_per_frame);
  const at::Tensor quantized_BDT =
      zero_beyond(quantizer_.decode(inputs.at("codes").to(at::kLong)), frames_B, 2);
  return {{"latents", latents(whole_BS, frames_B).transpose(1, 2)},
          {"lengths", frames_B},
          {"quantized", quantized_BDT.transpose(1, 2)},
          {"audio", speak(quantized_BDT, frames_B)},
          {"audio_lengths", frames_B * options_.samples_per_frame}};
}

}  // namespace s2s::nemo_audio_codec
