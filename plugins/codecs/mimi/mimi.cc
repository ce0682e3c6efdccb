#include "mimi.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "kyutai.h"
#include "mimi_errors.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {
namespace {

/// Frames that are computed at once, so that memory does not grow with the recording.
constexpr int64_t kPieceFrames = 125;
constexpr int64_t kSilenceSeconds = 2;

/// Applies `push` to pieces of x along `dim`, of `size` each, and concatenates what they give.
template <class Push>
at::Tensor in_pieces(const at::Tensor& x, int64_t dim, int64_t size, int64_t out_dim,
                     const Push& push) {
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < x.size(dim); begin += size) {
    pieces.push_back(push(x.slice(dim, begin, begin + size)));
  }
  return at::cat(pieces, out_dim);
}

void check_range(const at::Tensor& codes, int64_t codebook_size) {
  if (codes.numel() == 0 || !codes.device().is_cpu()) return;  // a device would wait
  for (const int64_t code : {codes.min().item<int64_t>(), codes.max().item<int64_t>()}) {
    if (code < 0 || code >= codebook_size) throw code_error(code, codebook_size);
  }
}

void add_residuals(AudioStack& stack, const MimiOptions& options, int64_t channels) {
  int64_t dilation = 1;
  for (int64_t j = 0; j < options.num_residual_layers; ++j) {
    const int64_t inner = channels / options.compress;
    auto unit = std::make_unique<ResidualUnit>("block.");
    unit->add(std::make_unique<Elu>())
        .add(std::make_unique<StreamConv1d>(ConvSpec{.inputs = channels,
                                                     .outputs = inner,
                                                     .kernel = options.residual_kernel_size,
                                                     .dilation = dilation}))
        .add(std::make_unique<Elu>())
        .add(std::make_unique<StreamConv1d>(ConvSpec{.inputs = inner, .outputs = channels}));
    stack.add(std::move(unit));
    dilation *= options.dilation_growth_rate;
  }
}

/// [B, 1, S] -> [B, H, S / hop].
void build_encoder(AudioStack& stack, const MimiOptions& options) {
  const auto& ratios = options.upsampling_ratios;
  const auto add_conv = [&](const ConvSpec& spec) {
    stack.add(std::make_unique<StreamConv1d>(spec));
  };
  int64_t channels = options.num_filters;
  add_conv({.outputs = channels, .kernel = options.kernel_size});
  for (size_t i = ratios.size(); i-- > 0; channels *= 2) {
    add_residuals(stack, options, channels);
    stack.add(std::make_unique<Elu>());
    add_conv({.inputs = channels,
              .outputs = 2 * channels,
              .kernel = 2 * ratios[i],
              .stride = ratios[i]});
  }
  stack.add(std::make_unique<Elu>());
  add_conv(
      {.inputs = channels, .outputs = options.hidden_size, .kernel = options.last_kernel_size});
}

/// [B, H, T] -> [B, 1, T hop].
void build_decoder(AudioStack& stack, const MimiOptions& options) {
  int64_t channels = options.num_filters << options.upsampling_ratios.size();
  stack.add(std::make_unique<StreamConv1d>(
      ConvSpec{.inputs = options.hidden_size, .outputs = channels, .kernel = options.kernel_size}));
  for (const int64_t ratio : options.upsampling_ratios) {
    stack.add(std::make_unique<Elu>());
    stack.add(std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{
        .inputs = channels, .outputs = channels / 2, .kernel = 2 * ratio, .stride = ratio}));
    channels /= 2;
    add_residuals(stack, options, channels);
  }
  stack.add(std::make_unique<Elu>());
  stack.add(std::make_unique<StreamConv1d>(
      ConvSpec{.inputs = channels, .outputs = 1, .kernel = options.last_kernel_size}));
}

}  // namespace

Mimi::Mimi(const MimiOptions& options, std::string weights_path)
    : options_(options),
      weights_path_(std::move(weights_path)),
      encoder_("layers."),
      encoder_transformer_(options),
      quantizer_(options),
      decoder_transformer_(options),
      decoder_("layers.") {
  build_encoder(encoder_, options);
  build_decoder(decoder_, options);
  register_block("encoder", encoder_);
  register_block("encoder_transformer", encoder_transformer_);
  const int64_t stride = options.latent_stride(), width = options.hidden_size;
  if (stride > 1) {
    downsample_ = std::make_unique<StreamConv1d>(ConvSpec{.inputs = width,
                                                          .outputs = width,
                                                          .kernel = 2 * stride,
                                                          .stride = stride,
                                                          .has_bias = false,
                                                          .padding = EdgePadding::kReplicate});
    register_block("downsample", *downsample_);
    upsample_ =
        std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{.inputs = width,
                                                                  .outputs = width,
                                                                  .kernel = 2 * stride,
                                                                  .stride = stride,
                                                                  .groups = options.upsample_groups,
                                                                  .has_bias = false});
    register_block("upsample", *upsample_);
  }
  register_block("quantizer", quantizer_);
  register_block("decoder_transformer", decoder_transformer_);
  register_block("decoder", decoder_);
}

Mimi::~Mimi() = default;

CodecShape Mimi::shape() const {
  return {options_.sampling_rate, options_.frame_samples(), options_.books(),
          options_.codebook_size};
}

at::Device Mimi::device() { return named_buffers().front().tensor->device(); }

at::Tensor Mimi::latents(const at::Tensor& audio_BS, StreamState& state) const {
  return in_pieces(
      audio_BS, 1, kPieceFrames * options_.frame_samples(), 2, [&](const at::Tensor& piece_BS) {
        const at::Tensor hidden_BHT =
            encoder_transformer_.push(encoder_.push(piece_BS.unsqueeze(1), state, false), state);
        return downsample_ ? downsample_->push(hidden_BHT, state, false) : hidden_BHT;
      });
}

at::Tensor Mimi::speak(const at::Tensor& codes_BKT, StreamState& state) const {
  return in_pieces(codes_BKT, 2, kPieceFrames, 1, [&](const at::Tensor& piece_BKT) {
    at::Tensor x_BHT = quantizer_.decode(piece_BKT);
    if (upsample_) x_BHT = upsample_->push(x_BHT, state, false);
    return decoder_.push(decoder_transformer_.push(x_BHT, state), state, false).squeeze(1);
  });
}

std::pair<at::Tensor, at::Tensor> Mimi::encode(const at::Tensor& audio_BS,
                                               const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto [whole_BS, frames_B] =
      whole_frames(audio_BS.to(at::kFloat), lengths_B, options_.frame_samples());
  StreamState state;
  const at::Tensor codes_BKT = quantizer_.encode(latents(whole_BS, state), options_.books());
  return {zero_beyond(codes_BKT, frames_B, 2), frames_B};
}

at::Tensor Mimi::decode(const at::Tensor& codes_BKT) {
  const at::NoGradGuard no_grad;
  check_range(codes_BKT, options_.codebook_size);
  StreamState state;
  return speak(codes_BKT, state);
}

/// Holds samples until a frame is complete.
class Mimi::Listener final : public CodecEncoderStream {
 public:
  Listener(Mimi& codec, int64_t batch_size)
      : codec_(codec),
        held_BS_(at::zeros({batch_size, 0}, at::TensorOptions(at::kFloat).device(codec.device()))) {
  }

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::NoGradGuard no_grad;
    held_BS_ = at::cat({held_BS_, audio_BS.to(held_BS_.options())}, 1);
    const int64_t frame = codec_.options_.frame_samples();
    const int64_t whole = held_BS_.size(1) / frame * frame;
    const at::Tensor frames_BS = held_BS_.slice(1, 0, whole);
    held_BS_ = held_BS_.slice(1, whole).clone();
    if (whole == 0) {
      return at::empty({held_BS_.size(0), codec_.options_.books(), 0},
                       held_BS_.options().dtype(at::kLong));
    }
    return codec_.quantizer_.encode(codec_.latents(frames_BS, state_), codec_.options_.books());
  }

  at::Tensor finish() override {
    const int64_t frame = codec_.options_.frame_samples();
    const int64_t missing = (frame - held_BS_.size(1) % frame) % frame;
    return push(at::zeros({held_BS_.size(0), missing}, held_BS_.options()));
  }

 private:
  const Mimi& codec_;
  at::Tensor held_BS_;
  StreamState state_;
};

class Mimi::Speaker final : public CodecStream {
 public:
  Speaker(Mimi& codec, int64_t batch_size)
      : codec_(codec), batch_(batch_size), device_(codec.device()) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    const at::NoGradGuard no_grad;
    check_range(codes_BKT, codec_.options_.codebook_size);
    if (codes_BKT.size(2) == 0) return finish();
    return codec_.speak(codes_BKT.to(device_, at::kLong), state_);
  }

  at::Tensor finish() override { return at::zeros({batch_, 0}, device_); }

 private:
  const Mimi& codec_;
  int64_t batch_;
  at::Device device_;
  StreamState state_;
};

std::unique_ptr<CodecStream> Mimi::open_stream(int64_t batch_size) {
  return std::make_unique<Speaker>(*this, batch_size);
}

std::unique_ptr<CodecEncoderStream> Mimi::open_encoder_stream(int64_t batch_size) {
  return std::make_unique<Listener>(*this, batch_size);
}

at::Tensor Mimi::silence_codes() {
  const int64_t frame = options_.frame_samples();
  const int64_t frames = (kSilenceSeconds * options_.sampling_rate + frame - 1) / frame;
  const at::Tensor silence_BS = at::zeros({1, frames * frame}, device());
  const at::Tensor length_B = at::full({1}, frames * frame, at::kLong);
  return encode(silence_BS, length_B).first[0].select(1, frames - 1).contiguous();
}

NameMap Mimi::checkpoint_names() const {
  return {.rules = {{"**", "**"}},
          .ignored = {"decoder.model.**", "decoder.lm_head.**", "depth_decoder.**",
                      "embed_tokens.**", "backbone_model.**", "lm_head.**", "embed_text_tokens.**"},
          .other_spellings = {{"**", "audio_encoder.**"}, {"**", "codec_model.**"}}};
}

std::unique_ptr<WeightSource> Mimi::initial_values() {
  if (weights_path_.empty()) return nullptr;
  WeightFiles files = WeightFiles::open(weights_path_);
  if (is_kyutai(files)) return kyutai_source(*this, options_, std::move(files));
  return weight_source(*this, checkpoint_names(), std::move(files));
}

std::map<std::string, at::Tensor> Mimi::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  StreamState heard, spoken;
  const at::Tensor latents_BHT = latents(inputs.at("audio"), heard);
  return {{"latents", latents_BHT},
          {"codes", quantizer_.encode(latents_BHT, options_.books())},
          {"audio", speak(inputs.at("codes"), spoken)}};
}

}  // namespace s2s::mimi
