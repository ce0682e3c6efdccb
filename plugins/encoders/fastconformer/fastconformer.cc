#include "fastconformer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "augment.h"
#include "s2s/error.h"
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

namespace {

/// The frames of row 0 of [B, N, ...], N its length, in pieces of `size`.
template <class Stream>
at::Tensor streamed(Stream& stream, const at::Tensor& row_1N, int64_t size) {
  std::vector<at::Tensor> frames;
  for (int64_t begin = 0; begin < row_1N.size(1); begin += size) {
    const int64_t count = std::min(size, row_1N.size(1) - begin);
    frames.push_back(stream.push(row_1N.narrow(1, begin, count)));
  }
  frames.push_back(stream.finish());
  return at::cat(frames, 1);
}

at::Tensor first_row(const at::Tensor& x, const at::Tensor& lengths_B) {
  return x.narrow(0, 0, 1).narrow(1, 0, lengths_B[0].item<int64_t>());
}

}  // namespace

std::map<std::string, at::Tensor> FastConformer::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const auto given = inputs.find("mel");
  const bool has_mel = given != inputs.end();
  const at::Tensor lengths_B = inputs.at(has_mel ? "mel_lengths" : "lengths");
  const at::Tensor input = has_mel ? given->second.transpose(1, 2) : inputs.at("audio");
  const at::Tensor mel_BTF = has_mel ? input : front_end_.forward(input, lengths_B);
  const at::Tensor frames_B = has_mel ? lengths_B : front_end_.frames(lengths_B);
  const ConformerEncoder::Output out = encoder_.forward(mel_BTF, frames_B);
  std::map<std::string, at::Tensor> outputs{{"mel", mel_BTF.transpose(1, 2)},
                                            {"mel_lengths", frames_B},
                                            {"features", out.features_BTH},
                                            {"lengths", out.lengths_B}};
  constexpr int64_t kFrames = 7, kSamples = 1000;  // pieces that are no multiple of a frame
  try {
    outputs["stream"] =
        has_mel ? streamed(*encoder_.open_stream(1), first_row(input, lengths_B), kFrames)
                : streamed(*open_stream(1), first_row(input, lengths_B), kSamples);
    outputs.merge(encoder_.stream_steps(first_row(mel_BTF, frames_B)));
  } catch (const Error& error) {
    if (error.id() != "encoder/not-streamable") throw;
  }
  return outputs;
}

ShardPlan FastConformer::configure_model(const MeshShape&) const {
  return encoder_.configure_model().nested_under("encoder");
}

namespace {

/// Weights of a file with another attention than the configuration's.
std::vector<std::string> unused_attention(const ConformerOptions& options) {
  const bool is_local = options.self_attention_model == "rel_pos_local_attn";
  std::vector<std::string> names;
  if (options.self_attention_model == "abs_pos") {
    names = {"linear_pos.**", "pos_bias_u", "pos_bias_v", "relative_k_proj.**", "bias_u", "bias_v"};
  }
  if (is_local && options.global_attn_separate) return names;
  names.insert(names.end(), {"global_q.**", "global_k.**", "global_v.**"});
  return names;
}

NameMap nemo_names(const ConformerOptions& options) {
  NameMap names{{{"preprocessor.**", "preprocessor.**"}, {"encoder.**", "encoder.**"}},
                {"preprocessor.dtype_sentinel_tensor", "spec_augmentation.**", "decoder.**",
                 "joint.**", "ctc_decoder.**", "aux_ctc.**", "loss.**"}};
  for (const std::string& name : unused_attention(options)) {
    names.ignored.push_back("encoder.layers.*.self_attn." + name);
  }
  if (options.untie_biases || options.self_attention_model != "rel_pos") return names;
  for (int64_t i = 1; i < options.n_layers; ++i) {  // shared by all layers, but stored in each
    const std::string layer = "encoder.layers." + std::to_string(i) + ".self_attn.pos_bias_";
    names.ignored.push_back(layer + "u");
    names.ignored.push_back(layer + "v");
  }
  return names;
}

/// The convolutions of NeMo's list by their places in it.
std::vector<NameRule> nemotron_convolutions(const ConformerOptions& options) {
  const std::string ours = "encoder.pre_encode.conv.", theirs = "encoder.subsampling.";
  std::vector<NameRule> rules{{ours + "0.**", theirs + "conv_in.**"}};
  int64_t place = 2;
  for (int64_t factor = 4; factor <= options.subsampling_factor; factor *= 2, place += 3) {
    const std::string layer = theirs + "layers." + std::to_string(place / 3) + ".";
    rules.push_back({ours + std::to_string(place) + ".**", layer + "depthwise_conv.**"});
    rules.push_back({ours + std::to_string(place + 1) + ".**", layer + "pointwise_conv.**"});
  }
  return rules;
}

NameMap transformers_names(const ConformerOptions& options, bool is_streaming) {
  const std::string ours = "encoder.layers.*.self_attn.", theirs = ours;
  NameMap names;
  if (is_streaming) {
    names.rules = nemotron_convolutions(options);
  } else {
    names.rules = {{"encoder.pre_encode.conv.**", "encoder.subsampling.layers.**"}};
  }
  const std::vector<NameRule> shared = {
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
  names.rules.insert(names.rules.end(), shared.begin(), shared.end());
  for (const auto& [name, written] : names.rules) {  // of the encoder alone
    names.other_spellings.push_back({name, written.substr(std::string_view("encoder.").size())});
  }
  names.ignored = {"ctc_head.**", "decoder.**", "joint.**", "encoder_projector.**"};
  for (const std::string& name : unused_attention(options)) {
    names.ignored.push_back(theirs + name);
  }
  return names;
}

}  // namespace

NameMap FastConformer::checkpoint_names() const {
  if (options_.checkpoint == "nemo") return nemo_names(options_.encoder);
  return transformers_names(options_.encoder, options_.checkpoint == "nemotron");
}

std::unique_ptr<WeightSource> FastConformer::initial_values() {
  if (!options_.path) return nullptr;
  WeightFiles files = WeightFiles::open(resolve_path(*options_.path, base_dir_));
  return weight_source(*this, checkpoint_names(), std::move(files));
}

}  // namespace s2s::fastconformer
