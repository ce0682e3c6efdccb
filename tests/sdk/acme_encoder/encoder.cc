// An encoder on s2s's shelf of layers (s2s/nn/transformer.h): log-mel features, eight of them for a
// frame of 80 ms, and layers in which every frame sees the whole recording. It cannot listen live.
// Shape letters: B batch, S samples, T frames, F features, H width.

#include "s2s/kinds/encoder.h"

#include <ATen/ATen.h>

#include "s2s/nn/mel.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/transformer.h"
#include "s2s/plugin.h"

namespace acme_encoder {

using namespace s2s;

constexpr int64_t kStride = 8;  // features of a frame

struct Options {
  int64_t features = 80;
  int64_t width = 256;
  int64_t num_heads = 4;
  int64_t num_layers = 2;
  void visit(OptionVisitor& v) {
    v("features", features, "mel bands", between(1, 512));
    v("width", width, "of a frame", at_least(1));
    v("num_heads", num_heads, "heads of each layer; they divide the width", at_least(1));
    v("num_layers", num_layers, "transformer layers", at_least(1));
  }
};

MelOptions mel_options(const Options& options) {
  MelOptions mel;
  mel.window_size = 0.025;
  mel.features = options.features;
  mel.pad_to = 0;
  return mel;
}

class AcmeEncoder : public Encoder {
 public:
  AcmeEncoder(const Options& options, const std::string& path)
      : options_(options),
        front_end_(mel_options(options), path, /*stored=*/false),
        in_(kStride * options.features, options.width) {
    register_block("front_end", front_end_);
    register_block("in", in_);
    EncoderLayerSpec spec;
    spec.attention.width = options.width;
    spec.attention.num_heads = options.num_heads;
    spec.inner_width = 4 * options.width;
    for (int64_t i = 0; i < options.num_layers; ++i) {
      layers_.push_back(std::make_unique<EncoderLayer>(spec));
      register_block("layers." + std::to_string(i), *layers_.back());
    }
  }

  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override {
    const at::Tensor mel_BMF = front_end_.forward(audio_BS, lengths_B);
    const int64_t width = output_width(audio_BS.size(1));
    const at::Tensor whole =
        at::constant_pad_nd(mel_BMF, {0, 0, 0, width * kStride - mel_BMF.size(1)});
    at::Tensor x_BTH = in_(whole.unflatten(1, {width, kStride}).flatten(2).to(in_.weight.dtype()));
    const at::Tensor frames_B =
        at::floor_divide(front_end_.frames(lengths_B) + (kStride - 1), kStride);
    const at::Tensor seen = length_mask(frames_B, width).unsqueeze(1).unsqueeze(1);
    for (const auto& layer : layers_) x_BTH = (*layer)(x_BTH, seen);
    return {x_BTH, frames_B, mel_BMF.transpose(1, 2)};
  }

  int64_t output_frames(int64_t num_samples) const override {
    return (front_end_.frames(num_samples) + kStride - 1) / kStride;
  }
  int64_t output_width(int64_t num_samples) const override {
    return (front_end_.width(num_samples) + kStride - 1) / kStride;
  }
  int64_t output_dim() const override { return options_.width; }
  int64_t sample_rate_hz() const override { return front_end_.options().sample_rate; }
  double frame_rate_hz() const override { return 12.5; }

  std::unique_ptr<EncoderStream> open_stream(int64_t) override {
    throw Error(ExitCode::kConfig, "encoder/not-streamable",
                "acme.encoder sees the whole recording; write an encoder that hears live");
  }

  ShardPlan configure_model(const MeshShape&) const override {
    ShardPlan plan;
    plan.rows = {{"in"}, {"layers.*"}};
    plan.units = {{"in"}, {"layers.*"}};
    return plan;
  }

 private:
  Options options_;
  MelFrontEnd front_end_;
  Linear in_;
  std::vector<std::unique_ptr<EncoderLayer>> layers_;
};

std::unique_ptr<Encoder> create(const Config& options, const BuildContext& context) {
  return std::make_unique<AcmeEncoder>(read_options<Options>(options, context.path), context.path);
}

}  // namespace acme_encoder

S2S_PLUGIN("acme_encoder", "0.1.0", "Apache-2.0", "encoder:acme.encoder") {
  registrar.add(s2s::Component<s2s::Encoder>{
      .name = "acme.encoder",
      .summary = "log-mel features and transformer layers that see the whole recording",
      .create = acme_encoder::create,
      .options = s2s::list_options<acme_encoder::Options>,
      .tiny = R"({"features": 8, "width": 16, "num_heads": 2})"});
}
