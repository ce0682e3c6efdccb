#include "rvq_vae.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>

#include "rvq_vae_errors.h"
#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s::rvq_vae {
namespace {

constexpr int64_t kSilenceSeconds = 10;

void check_range(const at::Tensor& codes, int64_t codebook_size) {
  if (codes.numel() == 0 || !codes.device().is_cpu()) return;  // a device would wait
  for (const int64_t code : {codes.min().item<int64_t>(), codes.max().item<int64_t>()}) {
    if (code < 0 || code >= codebook_size) throw code_out_of_range(code, codebook_size);
  }
}

/// Decodes frames as they come. The last (n_fft - hop) / 2 samples wait for the next frame.
class RvqVaeStream final : public CodecStream {
 public:
  RvqVaeStream(Codec& codec, const ResidualQuantizer& quantizer, WaveDecoder& decoder,
               int64_t batch_size)
      : quantizer_(quantizer),
        decoder_(decoder),
        batch_(batch_size),
        codebook_size_(codec.shape().codebook_size),
        device_(codec.named_buffers().front().tensor->device()),
        state_(decoder.start()),
        mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    const at::NoGradGuard no_grad;
    check_range(codes_BKT, codebook_size_);
    if (codes_BKT.size(2) == 0) return at::zeros({batch_, 0}, device_);
    const at::Tensor codes_BTK = codes_BKT.transpose(1, 2).to(device_, at::kLong);
    return decoder_.push(quantizer_.decode(codes_BTK), true, state_);
  }

  at::Tensor finish() override {
    const at::NoGradGuard no_grad;
    const at::Tensor rest_BS = state_.samples->finish();
    state_ = decoder_.start();
    return rest_BS.defined() ? rest_BS : at::zeros({batch_, 0}, device_);
  }

  TensorMap state() const override {
    TensorMap state = state_.layers.save(decoder_);
    state.merge(state_.samples->state());
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {"overlap.padding"});
    state_.layers.restore(decoder_, state, device_);
    state_.samples->restore(state);
  }

 private:
  const ResidualQuantizer& quantizer_;
  WaveDecoder& decoder_;
  int64_t batch_, codebook_size_;
  at::Device device_;
  DecoderState state_;
  StreamMark mark_;
};

}  // namespace

ResidualQuantizer::ResidualQuantizer(const RvqVaeOptions& options)
    : channels_(options.latent_size),
      codebook_size_(options.codebook_size),
      books_VD_(static_cast<size_t>(options.num_quantizers)),
      variances_(books_VD_.size()) {
  for (size_t k = 0; k < books_VD_.size(); ++k) {
    register_buffer("mus_list." + std::to_string(k), books_VD_[k]);
  }
  for (size_t k = 0; k < variances_.size(); ++k) {
    register_buffer("_variance_list." + std::to_string(k) + ".variance", variances_[k]);
  }
  ResidualQuantizer::reset_buffers();
}

ResidualQuantizer::~ResidualQuantizer() = default;

void ResidualQuantizer::reset_buffers() {
  const auto depth = static_cast<double>(books_VD_.size());
  for (size_t k = 0; k < books_VD_.size(); ++k) {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{k});
    const at::Tensor drawn = at::empty({codebook_size_, channels_}).normal_(0, 1, generator);
    const at::Tensor lengths = drawn.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
    books_VD_[k] = drawn / lengths * ((depth - static_cast<double>(k)) / depth);
    variances_[k] = at::ones({}, at::kFloat);
  }
}

at::Tensor ResidualQuantizer::encode(const at::Tensor& latents_BTD) const {
  return residual_codes(latents_BTD, books_VD_, EntryDistance::kExpanded);
}

at::Tensor ResidualQuantizer::decode(const at::Tensor& codes_BTK) const {
  return sum_of_entries(codes_BTK, books_VD_);
}

RvqVae::RvqVae(const RvqVaeOptions& options, std::string weights_path)
    : options_(options),
      weights_path_(std::move(weights_path)),
      encoder_(options),
      quantizer_(options),
      decoder_(options) {
  register_block("encoder", encoder_);
  register_block("prvq", quantizer_);
  register_block("decoder", decoder_);
}

RvqVae::~RvqVae() = default;

CodecShape RvqVae::shape() const {
  return {options_.sample_rate.value_or(22050), options_.wav_to_token_ratio,
          options_.num_quantizers, options_.codebook_size};
}

std::pair<at::Tensor, at::Tensor> RvqVae::encode(const at::Tensor& audio_BS,
                                                 const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto [whole_BS, frames_B] = whole_frames(audio_BS, lengths_B, options_.wav_to_token_ratio);
  const at::Tensor codes_BTK = quantizer_.encode(encoder_(whole_BS));
  return {zero_beyond(codes_BTK, frames_B, 1).transpose(1, 2).contiguous(), frames_B};
}

at::Tensor RvqVae::decode(const at::Tensor& codes_BKT) {
  const at::NoGradGuard no_grad;
  check_range(codes_BKT, options_.codebook_size);
  return decoder_(quantizer_.decode(codes_BKT.transpose(1, 2)), /*limit=*/true);
}

std::unique_ptr<CodecStream> RvqVae::open_stream(int64_t batch_size) {
  return std::make_unique<RvqVaeStream>(*this, quantizer_, decoder_, batch_size);
}

at::Tensor RvqVae::silence_codes() {
  const int64_t frame = options_.wav_to_token_ratio;
  const int64_t samples = kSilenceSeconds * shape().sample_rate_hz;
  const at::Device device = named_buffers().front().tensor->device();
  const at::Tensor silence_BS = at::zeros({1, (samples + frame - 1) / frame * frame}, device);
  const at::Tensor length_B = at::full({1}, silence_BS.size(1), at::kLong);
  const at::Tensor codes_TK = encode(silence_BS, length_B).first[0].t().contiguous();
  const auto [kinds_NK, kind_T, counts_N] =
      at::unique_dim(codes_TK.cpu(), 0, /*sorted=*/true, /*return_inverse=*/true,
                     /*return_counts=*/true);
  // Of several commonest frames, the one that is heard first.
  const at::Tensor commonest_T = counts_N.index_select(0, kind_T).eq(counts_N.max());
  return codes_TK[commonest_T.to(at::kLong).argmax().item<int64_t>()];
}

NameMap RvqVae::checkpoint_names() const {
  return {.rules = {{"**", "**"}},
          .ignored = {"tts_model.**", "embed_tokens.**", "audio_prompt_latents.**",
                      "codec_silence_tokens", "_control_codes"},
          .other_spellings = {{"**", "audio_codec.**"}}};
}

std::unique_ptr<WeightSource> RvqVae::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> RvqVae::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  const at::Tensor& audio = inputs.at("audio");
  const at::Tensor latents_BTD = encoder_(audio.reshape({audio.size(0), -1}));
  const at::Tensor quantized_BTD = quantizer_.decode(inputs.at("codes").transpose(1, 2));
  const at::Tensor lengths_B = at::div(inputs.at("lengths"), options_.wav_to_token_ratio, "floor");
  return {{"latents", latents_BTD},
          {"lengths", lengths_B},
          {"quantized", quantized_BTD},
          {"audio", decoder_(quantized_BTD, false)},
          {"audio_constrained", decoder_(quantized_BTD, true)},
          {"audio_lengths", lengths_B * options_.wav_to_token_ratio}};
}

}  // namespace s2s::rvq_vae
