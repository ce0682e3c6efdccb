// The tower of Qwen2-Audio. Shape letters: B rows, N windows of all rows, S samples, F mel bands, M
// mel frames, P frames before pooling, T frames, H width.

#include <ATen/ATen.h>

#include <utility>

#include "qwen_audio.h"
#include "qwen_audio_errors.h"
#include "s2s/nn/rows.h"

namespace s2s::qwen_audio {
namespace {

/// The mean of each two frames; a last one alone is dropped. [N, P, H] -> [N, P / 2, H].
at::Tensor pooled(const at::Tensor& x_NPH) {
  const int64_t pairs = x_NPH.size(1) / 2;
  return x_NPH.narrow(1, 0, 2 * pairs).unflatten(1, {pairs, 2}).mean(2);
}

class Qwen2Tower final : public AudioTower {
 public:
  Qwen2Tower(const QwenAudioOptions& options, const std::string& place)
      : AudioTower(options, place, options.path.value_or("")),
        stem_(options.num_mel_bins, options.d_model) {
    // A buffer because transformers does not train it either.
    register_buffer("encoder.embed_positions.weight", positions_PH_);
    register_block("encoder.stem", stem_);
    register_block("encoder.layer_norm", norm_);
  }
  ~Qwen2Tower() override = default;

  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override {
    const Mel mel = mel_of(audio_BS, lengths_B);
    const at::Tensor features_BTH = encode(mel, 0, outputs_);
    return {features_BTH.narrow(1, 0, output_width(audio_BS.size(1))), frames_of(mel.lengths_B),
            mel.mel_BFM};
  }

  int64_t output_dim() const override { return options_.d_model * outputs_.count(); }
  void select_outputs(const std::vector<int64_t>& layers, bool final_output) override {
    outputs_.select(layers, final_output);
  }

  double forward_flops(int64_t rows, int64_t num_samples) override {
    const int64_t frames = options_.max_source_positions;
    const double layers = encoder_layers_flops(options_.layer(), outputs_.num_computed(), frames);
    const int64_t windows = rows * features_.num_windows(num_samples, window_frames());
    return static_cast<double>(windows) * (stem_.flops(frames) + layers);
  }

  double frame_rate_hz() const override {
    return static_cast<double>(options_.sampling_rate) /
           static_cast<double>(4 * options_.hop_length);
  }

  ShardPlan configure_model(const MeshShape& mesh) const override {
    ShardPlan plan;
    plan.rows = {{"encoder.stem"}};
    plan.units = {{"encoder.stem"}};
    add_encoder_layers(options_.layer(), "encoder.layers", mesh, plan);
    plan.rows.push_back({"encoder.layer_norm"});
    return plan;
  }

  NameMap checkpoint_names() const override {
    return names_of({{"stem.conv1", "conv1"},
                     {"stem.conv2", "conv2"},
                     {"embed_positions", "embed_positions"},
                     {"layers", "layers"},
                     {"layer_norm", "layer_norm"}});
  }

 protected:
  void reset_buffers() override {
    positions_PH_ = sinusoid_positions(options_.max_source_positions, options_.d_model);
  }

  /// Whole windows have max_source_positions / 2 frames each.
  int64_t frames_of(int64_t num_mel_frames) const override {
    const int64_t whole = num_mel_frames / window_frames();
    const int64_t rest = num_mel_frames % window_frames();
    return whole * (options_.max_source_positions / 2) + rounded_up(rest, 2) / 2;
  }
  at::Tensor frames_of(const at::Tensor& mel_lengths_B) const override {
    const at::Tensor whole = at::floor_divide(mel_lengths_B, window_frames());
    const at::Tensor rest = mel_lengths_B - whole * window_frames();
    return whole * (options_.max_source_positions / 2) + at::floor_divide(rounded_up(rest, 2), 2);
  }

  Mel mel_of(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const override {
    return {features_.windows(audio_BS, lengths_B, window_frames()), features_.frames(lengths_B)};
  }

  at::Tensor encode(const Mel& mel, int64_t, const LayerOutputs& outputs) override {
    const int64_t window = window_frames(), width = mel.mel_BFM.size(2);
    if (width == 0 || width % window != 0) throw window_error(width, window);
    const int64_t rows = mel.mel_BFM.size(0), windows = width / window;
    const at::Tensor mel_NFM =
        mel.mel_BFM.unflatten(2, {windows, window}).transpose(1, 2).flatten(0, 1);
    const at::ScalarType type = norm_.weight.scalar_type();
    at::Tensor x_NPH = stem_(mel_NFM.to(type)) + positions_PH_.to(type);
    x_NPH = at::dropout(x_NPH, options_.dropout, is_training());
    const at::Tensor seen = seen_of(mel.lengths_B.to(x_NPH.device()), windows);
    const at::Tensor y_NTH = outputs.run(
        x_NPH, [&](int64_t i, const at::Tensor& x) { return run_layer(i, x, seen); },
        [&](const at::Tensor& x) { return norm_(pooled(x)); }, pooled);
    return y_NTH.unflatten(0, {rows, windows}).flatten(1, 2);
  }

 private:
  int64_t window_frames() const { return 2 * options_.max_source_positions; }

  /// [N, 1, 1, P]: the frames of each window that have audio. A window of padding sees its first
  /// one, so that nothing is divided by zero.
  at::Tensor seen_of(const at::Tensor& mel_lengths_B, int64_t windows) const {
    const at::Tensor begin_W =
        at::arange(windows, mel_lengths_B.options().dtype(at::kLong)) * window_frames();
    const at::Tensor in_window_N =
        (mel_lengths_B.unsqueeze(1) - begin_W).clamp(0, window_frames()).flatten();
    return length_mask(rounded_up(in_window_N, 2).clamp_min(1), options_.max_source_positions)
        .unsqueeze(1)
        .unsqueeze(1);
  }

  at::Tensor positions_PH_;
  WhisperStem stem_;
};

}  // namespace

std::unique_ptr<Encoder> make_qwen2(const QwenAudioOptions& options, const std::string& place) {
  return std::make_unique<Qwen2Tower>(options, place);
}

}  // namespace s2s::qwen_audio
