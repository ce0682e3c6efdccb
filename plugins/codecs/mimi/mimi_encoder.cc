#include "mimi_encoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "mimi_errors.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {
namespace {

/// [B, H, T] -> [B, T, H] as the codec's frames come.
class FeatureStream final : public EncoderStream {
 public:
  explicit FeatureStream(std::unique_ptr<CodecEncoderStream> frames) : frames_(std::move(frames)) {}
  at::Tensor push(const at::Tensor& audio_BS) override {
    const FullPrecision full_precision;
    return frames_->push(audio_BS).transpose(1, 2);
  }
  at::Tensor finish() override {
    const FullPrecision full_precision;
    return frames_->finish().transpose(1, 2);
  }

 private:
  std::unique_ptr<CodecEncoderStream> frames_;
};

}  // namespace

void MimiEncoderOptions::visit(OptionVisitor& v) {
  v("output", output, "latents, or quantized: the sums of their num_codebooks nearest entries",
    one_of({"latents", "quantized"}));
  MimiOptions::visit(v);
}

MimiEncoder::MimiEncoder(const MimiEncoderOptions& options, std::string weights_path)
    : options_(options), codec_(options, std::move(weights_path)) {
  register_block("", codec_);
}

MimiEncoder::~MimiEncoder() = default;

EncoderOutput MimiEncoder::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  const at::Tensor features_BHT =
      codec_.features(audio_BS.to(at::kFloat), lengths_B, options_.output == "quantized");
  const int64_t frame = codec_.shape().samples_per_frame;
  return {features_BHT.transpose(1, 2).contiguous(),
          at::floor_divide(lengths_B + (frame - 1), frame),
          {}};
}

int64_t MimiEncoder::output_frames(int64_t num_samples) const {
  const int64_t frame = codec_.shape().samples_per_frame;
  return (num_samples + frame - 1) / frame;
}

std::unique_ptr<EncoderStream> MimiEncoder::open_stream(int64_t batch_size) {
  return std::make_unique<FeatureStream>(
      codec_.open_feature_stream(batch_size, options_.output == "quantized"));
}

/// There are buffers only, which every rank has.
ShardPlan MimiEncoder::configure_model(const MeshShape&) const { return {}; }

std::map<std::string, at::Tensor> MimiEncoder::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::Tensor& audio = inputs.at("audio");
  const at::Tensor audio_BS = audio.dim() == 3 ? audio.squeeze(1) : audio;
  const at::Tensor ends_B = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
  const EncoderOutput out = forward(audio_BS, ends_B.to(audio_BS.device()));
  std::map<std::string, at::Tensor> found = {{"features", out.features_BTH}};
  const int64_t frame = codec_.shape().samples_per_frame;
  found["lengths"] = at::floor_divide(inputs.at("lengths") + (frame - 1), frame);
  return found;
}

std::unique_ptr<Encoder> create_mimi_encoder(const Config& node, const BuildContext& context) {
  const Config config =
      has_folder_config(node, context) ? with_folder_config(node, context, mimi_from_hf) : node;
  const auto options = read_options<MimiEncoderOptions>(config, context.path);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  return std::make_unique<MimiEncoder>(
      options, options.path ? resolve_path(*options.path, context.base_dir) : "");
}

}  // namespace s2s::mimi
