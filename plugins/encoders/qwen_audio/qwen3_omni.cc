// The tower of Qwen3-Omni. Shape letters: B rows, N windows of all rows, S samples, F mel bands, M
// mel frames, T frames, H width, C channels.

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "qwen_audio.h"
#include "qwen_audio_errors.h"
#include "s2s/nn/rows.h"

namespace s2s::qwen_audio {
namespace {

constexpr int64_t kWindowMel = 100;    // mel frames that go through the convolutions by themselves
constexpr int64_t kWindowFrames = 13;  // what they leave of them
constexpr int64_t kStages = 3;

/// Positions that convolutions of stride 2 leave, in time or in frequency.
int64_t thinned(int64_t n) {
  for (int64_t i = 0; i < kStages; ++i) n = rounded_up(n, 2);
  return n;
}

/// Three convolutions over time and frequency, and a projection. [N, F, M] -> [N, T, H].
class OmniStem final : public BlockOf<> {
 public:
  explicit OmniStem(const QwenAudioOptions& options)
      : channels_(options.downsample_hidden_size),
        out_(channels_ * thinned(options.num_mel_bins), options.d_model, /*bias=*/false) {
    for (int64_t i = 0; i < kStages; ++i) {
      Conv& conv = convs_[static_cast<size_t>(i)];
      const int64_t inputs = i == 0 ? 1 : channels_;
      const Init init{Init::Kind::kUniform, 1 / std::sqrt(static_cast<double>(9 * inputs))};
      const std::string name = "conv2d" + std::to_string(i + 1);
      register_parameter(name + ".weight", conv.weight, {channels_, inputs, 3, 3}, init);
      register_parameter(name + ".bias", conv.bias, {channels_}, init);
    }
    register_block("conv_out", out_);
  }
  ~OmniStem() override = default;

  /// Floating-point operations of one window.
  double flops(int64_t num_mels) const {
    const auto channels = static_cast<double>(channels_);
    double products = 0, inputs = 1;
    int64_t bands = num_mels, frames = kWindowMel;
    for (int64_t i = 0; i < kStages; ++i) {
      bands = rounded_up(bands, 2);
      frames = rounded_up(frames, 2);
      products += static_cast<double>(bands * frames) * 9 * inputs * channels;
      inputs = channels;
    }
    const auto width = static_cast<double>(out_.weight.size(0));
    return 2 * (products + static_cast<double>(frames * bands) * channels * width);
  }

 protected:
  at::Tensor forward(const at::Tensor& mel_NFM) override {
    at::Tensor x_NCFT = mel_NFM.unsqueeze(1);
    for (const Conv& conv : convs_) {
      x_NCFT = at::gelu(at::conv2d(x_NCFT, conv.weight, conv.bias, 2, 1));
    }
    return out_(x_NCFT.permute({0, 3, 1, 2}).flatten(2));
  }

 private:
  struct Conv {
    at::Tensor weight, bias;
  };
  int64_t channels_;
  std::array<Conv, kStages> convs_;
  Linear out_;
};

class OmniTower final : public AudioTower {
 public:
  OmniTower(const QwenAudioOptions& options, const std::string& place)
      : AudioTower(options, place, options.path.value_or("")),
        stem_(options),
        proj1_(options.d_model, options.d_model),
        proj2_(options.d_model, options.output_dim) {
    register_buffer("positions", positions_TH_, /*persistent=*/false);
    register_block("encoder.stem", stem_);
    register_block("encoder.ln_post", norm_);
    register_block("encoder.proj1", proj1_);
    register_block("encoder.proj2", proj2_);
  }
  ~OmniTower() override = default;

  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override {
    // Whole mel frames, so that a row has as many frames alone as beside longer ones.
    const int64_t samples = audio_BS.size(1), hop = options_.hop_length;
    const int64_t whole = std::max(features_.frames(samples) * hop, options_.n_fft / 2 + hop);
    const Mel mel = mel_of(at::constant_pad_nd(audio_BS, {0, whole - samples}), lengths_B);
    const at::Tensor features_BTH = encode(mel, features_.frames(samples), outputs_);
    return {features_BTH.narrow(1, 0, output_width(samples)), frames_of(mel.lengths_B),
            mel.mel_BFM.narrow(2, 0, features_.frames(samples))};
  }

  int64_t output_dim() const override {
    return outputs_.has_final() && outputs_.count() == 1 ? options_.output_dim
                                                         : options_.d_model * outputs_.count();
  }
  void select_outputs(const std::vector<int64_t>& layers, bool final_output) override {
    if (!layers.empty() && options_.d_model != options_.output_dim) {
      throw layer_widths_error(place_, options_.d_model, options_.output_dim);
    }
    outputs_.select(layers, final_output);
  }

  double forward_flops(int64_t rows, int64_t num_samples) override {
    const int64_t windows = rounded_up(features_.frames(num_samples), kWindowMel);
    const int64_t blocks = rounded_up(windows, block_windows());
    const int64_t block = block_windows() * kWindowFrames;
    const double layers = encoder_layers_flops(options_.layer(), outputs_.num_computed(), block);
    const auto width = static_cast<double>(options_.d_model);
    const double projections = 2 * static_cast<double>(windows * kWindowFrames) * width *
                               (width + static_cast<double>(options_.output_dim));
    return static_cast<double>(rows) *
           (static_cast<double>(windows) * stem_.flops(options_.num_mel_bins) +
            static_cast<double>(blocks) * layers + projections);
  }

  double frame_rate_hz() const override {
    return static_cast<double>(options_.sampling_rate * kWindowFrames) /
           static_cast<double>(kWindowMel * options_.hop_length);
  }

  ShardPlan configure_model(const MeshShape& mesh) const override {
    ShardPlan plan;
    plan.rows = {{"encoder.stem"}};
    plan.units = {{"encoder.stem"}};
    add_encoder_layers(options_.layer(), "encoder.layers", mesh, plan);
    for (const char* last : {"encoder.ln_post", "encoder.proj1", "encoder.proj2"}) {
      plan.rows.push_back({last});
    }
    return plan;
  }

  NameMap checkpoint_names() const override {
    return names_of({{"stem.conv2d1", "conv2d1"},
                     {"stem.conv2d2", "conv2d2"},
                     {"stem.conv2d3", "conv2d3"},
                     {"stem.conv_out", "conv_out"},
                     {"layers", "layers"},
                     {"ln_post", "ln_post"},
                     {"proj1", "proj1"},
                     {"proj2", "proj2"}});
  }

 protected:
  void reset_buffers() override {
    positions_TH_ = sinusoid_positions(kWindowFrames, options_.d_model);
  }

  int64_t frames_of(int64_t num_mel_frames) const override {
    return num_mel_frames / kWindowMel * kWindowFrames + thinned(num_mel_frames % kWindowMel);
  }
  at::Tensor frames_of(const at::Tensor& mel_lengths_B) const override {
    const at::Tensor whole = at::floor_divide(mel_lengths_B, kWindowMel);
    at::Tensor rest = mel_lengths_B - whole * kWindowMel;
    for (int64_t i = 0; i < kStages; ++i) rest = rounded_up(rest, 2);
    return whole * kWindowFrames + rest;
  }

  /// As the extractor without truncation gives them for a padded batch: a begun mel frame at the
  /// end of the batch is dropped.
  Mel mel_of(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const override {
    const at::Tensor mel_BFM = features_(audio_BS, lengths_B);
    return {mel_BFM, features_.frames(lengths_B).clamp_max(mel_BFM.size(2))};
  }

  at::Tensor encode(const Mel& mel, int64_t longest, const LayerOutputs& outputs) override {
    longest = std::max<int64_t>(longest, 1);  // every layer runs, as on the other ranks
    const int64_t rows = mel.mel_BFM.size(0), windows = rounded_up(longest, kWindowMel);
    const int64_t window = std::min(longest, kWindowMel);  // what all windows are padded to
    const at::Tensor lengths_B = mel.lengths_B.to(mel.mel_BFM.device());
    const at::Tensor valid_BFM = zero_beyond(mel.mel_BFM, lengths_B, 2);
    const at::Tensor mel_BFM =
        at::constant_pad_nd(valid_BFM, {0, windows * window - valid_BFM.size(2)});
    const at::Tensor mel_NFM =
        mel_BFM.unflatten(2, {windows, window}).transpose(1, 2).flatten(0, 1);
    const at::ScalarType type = norm_.weight.scalar_type();
    const at::Tensor x_NTH = stem_(mel_NFM.to(type));
    const at::Tensor placed_NTH = x_NTH + positions_TH_.narrow(0, 0, x_NTH.size(1)).to(type);
    return in_blocks(placed_NTH.unflatten(0, {rows, windows}).flatten(1, 2), frames_of(lengths_B),
                     outputs);
  }

 private:
  /// Windows whose frames attend to each other.
  int64_t block_windows() const {
    return std::max<int64_t>(options_.n_window_infer / kWindowMel, 1);
  }

  /// Runs the layers on blocks of frames. x [B, T, H], frames [B] valid ones.
  at::Tensor in_blocks(const at::Tensor& x_BTH, const at::Tensor& frames_B,
                       const LayerOutputs& outputs) {
    const int64_t rows = x_BTH.size(0), width = x_BTH.size(1);
    const int64_t block = std::min(block_windows() * kWindowFrames, width);
    const int64_t blocks = rounded_up(width, block);
    const at::Tensor whole = at::constant_pad_nd(x_BTH, {0, 0, 0, blocks * block - width});
    // A block of padding sees its first frame, so that nothing is divided by zero.
    const at::Tensor begin = at::arange(blocks, frames_B.options()) * block;
    const at::Tensor valid = (frames_B.unsqueeze(1) - begin).clamp(1, block).flatten();
    const at::Tensor seen = length_mask(valid, block).unsqueeze(1).unsqueeze(1);
    const at::Tensor y = outputs.run(
        whole.reshape({rows * blocks, block, -1}),
        [&](int64_t i, const at::Tensor& x) { return run_layer(i, x, seen); },
        [&](const at::Tensor& x) {
          return proj2_(apply_activation(proj1_(norm_(x)), options_.layer().activation));
        });
    return y.reshape({rows, blocks * block, -1}).narrow(1, 0, width);
  }

  at::Tensor positions_TH_;
  OmniStem stem_;
  Linear proj1_, proj2_;
};

}  // namespace

std::unique_ptr<Encoder> make_qwen3_omni(const QwenAudioOptions& options,
                                         const std::string& place) {
  return std::make_unique<OmniTower>(options, place);
}

}  // namespace s2s::qwen_audio
