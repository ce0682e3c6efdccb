#include "encoder.h"

#include <ATen/ATen.h>

#include "s2s/error.h"

namespace PLUGIN_NAME {
namespace {

constexpr int64_t kStride = 8;  // mel frames per frame

int64_t frames_of(int64_t num_mel_frames) { return (num_mel_frames + kStride - 1) / kStride; }

s2s::MelOptions mel_options(const Options& options) {
  s2s::MelOptions mel;
  mel.sample_rate = options.sample_rate;
  mel.window_size = 0.025;
  mel.window_stride = 0.01;
  mel.features = options.features;
  mel.normalize = "NA";  // normalizing over a whole recording would look ahead
  mel.pad_to = 0;
  return mel;
}

s2s::Error bad_rate(const std::string& path, int64_t sample_rate) {
  return {s2s::ExitCode::kConfig, "PLUGIN_NAME/sample-rate",
          path + ".sample_rate = " + std::to_string(sample_rate) +
              "; expected a multiple of 100 Hz, for whole samples in 10 ms; correct it, and "
              "data.source_sample_rate too"};
}

}  // namespace

Encoder::Encoder(const Options& options, const std::string& path)
    : options_(options),
      front_end_(mel_options(options), path, /*stored=*/false),
      in_((options.context + kStride) * options.features, options.d_model),
      out_(options.d_model, options.d_model),
      norm_(options.d_model) {
  register_block("front_end", front_end_);
  register_block("in", in_);
  register_block("norm", norm_);
  register_block("out", out_);
}

at::Tensor Encoder::encode(const at::Tensor& mel_BMF) {
  const at::Tensor windows = mel_BMF.unfold(1, options_.context + kStride, kStride).flatten(2);
  const at::Tensor x_BTH = norm_(in_(windows.to(in_.weight.scalar_type())));
  return out_(at::gelu(x_BTH));
}

s2s::EncoderOutput Encoder::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::Tensor mel_frames_B = front_end_.frames(lengths_B);
  const at::Tensor mel_BMF = front_end_.forward(audio_BS, lengths_B);  // zeros beyond each length
  const int64_t missing = frames_of(mel_BMF.size(1)) * kStride - mel_BMF.size(1);
  const at::Tensor whole_BMF = at::constant_pad_nd(mel_BMF, {0, 0, options_.context, missing});
  return {encode(whole_BMF), at::floor_divide(mel_frames_B + (kStride - 1), kStride),
          mel_BMF.transpose(1, 2)};
}

int64_t Encoder::output_frames(int64_t num_samples) const {
  return frames_of(front_end_.frames(num_samples));
}

int64_t Encoder::output_width(int64_t num_samples) const {
  return frames_of(front_end_.width(num_samples));
}

/// Keeps the mel frames that are the context of the next frame.
class Encoder::Stream final : public s2s::EncoderStream {
 public:
  Stream(Encoder& encoder, int64_t batch_size)
      : encoder_(encoder),
        mel_(encoder.front_end_.open_stream(batch_size)),
        kept_BMF_(at::zeros({batch_size, encoder.options_.context, encoder.options_.features},
                            encoder.in_.weight.options().dtype(at::kFloat))) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    kept_BMF_ = at::cat({kept_BMF_, mel_->push(audio_BS)}, 1);
    return take((kept_BMF_.size(1) - encoder_.options_.context) / kStride);
  }

  at::Tensor finish() override {
    kept_BMF_ = at::cat({kept_BMF_, mel_->finish()}, 1);
    const int64_t rest = kept_BMF_.size(1) - encoder_.options_.context;
    const int64_t missing = frames_of(rest) * kStride - rest;
    kept_BMF_ = at::constant_pad_nd(kept_BMF_, {0, 0, 0, missing});
    return take(frames_of(rest));
  }

 private:
  at::Tensor take(int64_t count) {
    const int64_t batch = kept_BMF_.size(0), used = count * kStride;
    if (count == 0)
      return at::zeros({batch, 0, encoder_.output_dim()}, encoder_.in_.weight.options());
    const at::Tensor ready_BMF = kept_BMF_.narrow(1, 0, encoder_.options_.context + used);
    kept_BMF_ = kept_BMF_.slice(1, used).clone();
    return encoder_.encode(ready_BMF);
  }

  Encoder& encoder_;
  std::unique_ptr<s2s::MelStream> mel_;
  at::Tensor kept_BMF_;
};

std::unique_ptr<s2s::EncoderStream> Encoder::open_stream(int64_t batch_size) {
  return std::make_unique<Stream>(*this, batch_size);
}

/// Replicated on the tensor axis; the two layers are sharded units on the data axis.
s2s::ShardPlan Encoder::configure_model(const s2s::MeshShape&) const {
  s2s::ShardPlan plan;
  for (const char* module : {"in", "norm", "out"}) plan.rows.push_back({module});
  for (const char* module : {"in", "out"}) plan.units.push_back({module});
  return plan;
}

std::unique_ptr<s2s::Encoder> create(const s2s::Config& options, const s2s::BuildContext& context) {
  const auto read = s2s::read_options<Options>(options, context.path);
  if (read.sample_rate % 100 != 0) throw bad_rate(context.path, read.sample_rate);
  return std::make_unique<Encoder>(read, context.path);
}

}  // namespace PLUGIN_NAME
