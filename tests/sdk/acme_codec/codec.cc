// A small streaming codec on s2s's shelf of audio layers (s2s/nn/audio.h): a convolutional encoder,
// residual vector quantization, a convolutional decoder. All layers are causal, so that a stream
// returns a frame as soon as it is heard. Weights are random until a checkpoint brings others.
// Shape letters: B batch, S samples, H channels, T frames, K codebooks.

#include "s2s/kinds/codec.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/audio.h"
#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"
#include "s2s/plugin.h"

namespace acme_codec {

using namespace s2s;

struct Options {
  int64_t sample_rate = 16000;
  int64_t channels = 16;
  int64_t num_codebooks = 4;
  int64_t codebook_size = 64;
  std::vector<int64_t> strides = {8, 10, 16};  // 1280 samples: 80 ms
  void visit(OptionVisitor& v) {
    v("sample_rate", sample_rate, "sample rate in Hz", at_least(1000));
    v("channels", channels, "channels of all layers", at_least(1));
    v("num_codebooks", num_codebooks, "codes of a frame", between(1, 64));
    v("codebook_size", codebook_size, "entries of a codebook", at_least(2));
    v("strides", strides, "of the encoder's convolutions; their product is the frame");
  }
};

class AcmeCodec : public Codec {
 public:
  explicit AcmeCodec(const Options& options)
      : options_(options), books_(static_cast<size_t>(options.num_codebooks)) {
    const int64_t width = options.channels;
    encoder_.add(std::make_unique<StreamConv1d>(ConvSpec{.outputs = width, .kernel = 7}));
    for (const int64_t stride : options.strides) {
      frame_ *= stride;
      auto unit = std::make_unique<ResidualUnit>("block.");
      unit->add(std::make_unique<Elu>())
          .add(std::make_unique<StreamConv1d>(
              ConvSpec{.inputs = width, .outputs = width, .kernel = 3}));
      encoder_.add(std::move(unit));
      encoder_.add(std::make_unique<StreamConv1d>(
          ConvSpec{.inputs = width, .outputs = width, .kernel = 2 * stride, .stride = stride}));
    }
    for (size_t i = options.strides.size(); i-- > 0;) {
      const int64_t stride = options.strides[i];
      decoder_.add(std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{
          .inputs = width, .outputs = width, .kernel = 2 * stride, .stride = stride}));
      decoder_.add(std::make_unique<Snake>(width));
    }
    decoder_.add(std::make_unique<StreamConv1d>(ConvSpec{.inputs = width, .kernel = 7}));
    register_block("encoder", encoder_);
    for (size_t k = 0; k < books_.size(); ++k) {
      register_buffer("books." + std::to_string(k), books_[k]);
    }
    register_block("decoder", decoder_);
    AcmeCodec::reset_buffers();
  }

  CodecShape shape() const override {
    return {options_.sample_rate, frame_, options_.num_codebooks, options_.codebook_size};
  }

  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override {
    const at::NoGradGuard no_grad;
    const auto [whole_BS, frames_B] = whole_frames(audio_BS, lengths_B, frame_);
    const at::Tensor latents_BTH = encoder_(whole_BS.unsqueeze(1)).transpose(1, 2);
    const at::Tensor codes_BTK = residual_codes(latents_BTH, books_, EntryDistance::kExpanded);
    return {zero_beyond(codes_BTK, frames_B, 1).transpose(1, 2).contiguous(), frames_B};
  }

  at::Tensor decode(const at::Tensor& codes_BKT) override {
    StreamState state;
    return speak(codes_BKT, state);
  }

  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override {
    return std::make_unique<Stream>(*this, batch_size);
  }

  /// The first entry of each book is zero, and so is what the decoder makes of it.
  at::Tensor silence_codes() override { return at::zeros({options_.num_codebooks}, at::kLong); }

 protected:
  void reset_buffers() override {
    for (size_t k = 0; k < books_.size(); ++k) {
      const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{k});
      books_[k] = at::empty({options_.codebook_size, options_.channels}).normal_(0, 1, generator);
      books_[k][0].zero_();
    }
  }

 private:
  class Stream : public CodecStream {
   public:
    Stream(AcmeCodec& codec, int64_t batch_size)
        : codec_(codec),
          batch_size_(batch_size),
          mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}
    at::Tensor push(const at::Tensor& codes_BKT) override {
      return codec_.speak(codes_BKT.to(codec_.books_.front().device()), state_);
    }
    at::Tensor finish() override { return at::zeros({batch_size_, 0}); }
    TensorMap state() const override { return mark_.on(state_.save(codec_)); }
    void restore(const TensorMap& state) override {
      mark_.check(state);
      state_.restore(codec_, state, codec_.books_.front().device());
    }

   private:
    AcmeCodec& codec_;
    int64_t batch_size_;
    StreamState state_;
    StreamMark mark_;
  };

  at::Tensor speak(const at::Tensor& codes_BKT, StreamState& state) const {
    const at::NoGradGuard no_grad;
    const at::Tensor latents_BTH = sum_of_entries(codes_BKT.transpose(1, 2), books_);
    return decoder_.push(latents_BTH.transpose(1, 2), state, /*is_last=*/false).squeeze(1);
  }

  Options options_;
  int64_t frame_ = 1;
  AudioStack encoder_{"layers."}, decoder_{"layers."};
  std::vector<at::Tensor> books_;  // [codebook_size, channels] each
};

std::unique_ptr<Codec> create(const Config& options, const ModelContext& context) {
  return std::make_unique<AcmeCodec>(read_options<Options>(options, context.path));
}

}  // namespace acme_codec

S2S_PLUGIN("acme_codec", "0.1.0", "Apache-2.0", "codec:acme.codec") {
  registrar.add(s2s::Component<s2s::Codec>{.name = "acme.codec",
                                           .summary = "convolutions around residual quantization",
                                           .create = acme_codec::create,
                                           .options = s2s::list_options<acme_codec::Options>,
                                           .tiny = R"({"channels": 4, "codebook_size": 8})"});
}
