#include "fastconformer.h"

#include <ATen/ATen.h>

#include <utility>

#include "augment.h"
#include "s2s/nn/weights.h"

namespace s2s::fastconformer {

FastConformer::FastConformer(FastConformerOptions options, const std::string& place,
                             std::string base_dir)
    : options_(std::move(options)),
      base_dir_(std::move(base_dir)),
      // Files in Parakeet's format do not contain the window and the filter bank.
      front_end_(options_.preprocessor, place + ".preprocessor", options_.checkpoint == "nemo"),
      encoder_(options_.encoder, place + ".encoder") {
  register_block("preprocessor", front_end_);
  register_block("encoder", encoder_);
}

FastConformer::~FastConformer() = default;

EncoderOutput FastConformer::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::Tensor frames_B = front_end_.frames(lengths_B);
  at::Tensor power_BTF = front_end_.mel_power(audio_BS, lengths_B);
  if (is_training()) power_BTF = augment_power(power_BTF, frames_B, options_.augment);
  at::Tensor mel_BTF = front_end_.features(power_BTF, frames_B);
  if (is_training()) mel_BTF = mask_features(mel_BTF, frames_B, options_.spec_augment);
  const ConformerEncoder::Output out = encoder_.forward(mel_BTF, frames_B);
  return {out.features_BTH, out.lengths_B, mel_BTF.transpose(1, 2)};
}

int64_t FastConformer::output_frames(int64_t num_samples) const {
  return encoder_.output_frames(front_end_.frames(num_samples));
}

int64_t FastConformer::output_width(int64_t num_samples) const {
  return encoder_.output_frames(front_end_.width(num_samples));
}

int64_t FastConformer::output_dim() const { return encoder_.output_dim(); }

double FastConformer::forward_flops(int64_t rows, int64_t num_samples) {
  return encoder_.forward_flops(rows, front_end_.width(num_samples));
}

int64_t FastConformer::sample_rate_hz() const { return options_.preprocessor.sample_rate; }

double FastConformer::frame_rate_hz() const {
  const int64_t samples = options_.preprocessor.hop_samples() * encoder_.subsampling_factor();
  return static_cast<double>(sample_rate_hz()) / static_cast<double>(samples);
}

namespace {

class LiveFastConformer final : public EncoderStream {
 public:
  LiveFastConformer(std::unique_ptr<MelStream> mel, std::unique_ptr<FrameStream> frames)
      : mel_(std::move(mel)), frames_(std::move(frames)) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    return frames_->push(mel_->push(audio_BS));
  }

  at::Tensor finish() override {
    const at::Tensor ready = frames_->push(mel_->finish());
    return at::cat({ready, frames_->finish()}, 1);
  }

 private:
  std::unique_ptr<MelStream> mel_;
  std::unique_ptr<FrameStream> frames_;
};

}  // namespace

std::unique_ptr<EncoderStream> FastConformer::open_stream(int64_t batch_size) {
  auto mel = front_end_.open_stream(batch_size);
  return std::make_unique<LiveFastConformer>(std::move(mel), encoder_.open_stream(batch_size));
}

ShardPlan FastConformer::configure_model(const MeshShape&) const {
  return encoder_.configure_model().nested_under("encoder");
}

namespace {

NameMap nemo_names(const ConformerOptions& options) {
  NameMap names{{{"preprocessor.**", "preprocessor.**"}, {"encoder.**", "encoder.**"}},
                {"preprocessor.dtype_sentinel_tensor", "spec_augmentation.**", "decoder.**",
                 "joint.**", "ctc_decoder.**", "aux_ctc.**", "loss.**"}};
  if (options.untie_biases) return names;
  for (int64_t i = 1; i < options.n_layers; ++i) {  // shared by all layers, but stored in each
    const std::string layer = "encoder.layers." + std::to_string(i) + ".self_attn.pos_bias_";
    names.ignored.push_back(layer + "u");
    names.ignored.push_back(layer + "v");
  }
  return names;
}

NameMap parakeet_names() {
  const std::string ours = "encoder.layers.*.self_attn.", theirs = ours;
  NameMap names;
  names.rules = {{"encoder.pre_encode.conv.**", "encoder.subsampling.layers.**"},
                 {"encoder.pre_encode.out.**", "encoder.subsampling.linear.**"},
                 {"encoder.layers.*.conv.batch_norm.**", "encoder.layers.*.conv.norm.**"},
                 {ours + "linear_q.**", theirs + "q_proj.**"},
                 {ours + "linear_k.**", theirs + "k_proj.**"},
                 {ours + "linear_v.**", theirs + "v_proj.**"},
                 {ours + "linear_out.**", theirs + "o_proj.**"},
                 {ours + "linear_pos.**", theirs + "relative_k_proj.**"},
                 {ours + "pos_bias_u", theirs + "bias_u"},
                 {ours + "pos_bias_v", theirs + "bias_v"},
                 {"encoder.**", "encoder.**"}};
  names.ignored = {"ctc_head.**", "decoder.**", "joint.**", "encoder_projector.**"};
  return names;
}

}  // namespace

NameMap FastConformer::checkpoint_names() const {
  return options_.checkpoint == "nemo" ? nemo_names(options_.encoder) : parakeet_names();
}

std::unique_ptr<WeightSource> FastConformer::initial_values() {
  if (!options_.path) return nullptr;
  WeightFiles files = WeightFiles::open(resolve_path(*options_.path, base_dir_));
  return weight_source(*this, checkpoint_names(), std::move(files));
}

}  // namespace s2s::fastconformer
