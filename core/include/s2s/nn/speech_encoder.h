#pragma once
// What speech encoders with transformer layers share: how they read a Hugging Face folder, outputs
// of single layers, their sharding plan. Shape letters: B batch, T frames, H width.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/nn/audio.h"
#include "s2s/nn/transformer.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// What the keys of a block of a foreign configuration are.
struct EncoderKeys {
  std::vector<std::string> model_types;  // accepted values of model_type; empty: not checked
  std::vector<std::string> options;      // keys that are options under the same name
  std::vector<std::string> ignored;      // keys that do not change the result
  /// Keys of which only the listed values are supported, the usual value first. Null is always
  /// accepted, and so are `false` and null of unknown keys.
  std::map<std::string, std::vector<std::string>> harmless = {};
};

/// Reads a block of config.json or of preprocessor_config.json: the keys that are options.
/// `prefix` names the block in messages ("audio_config."). Names, versions and settings of
/// generation are always ignored. Errors: [weights/config], all findings together.
Config read_encoder_keys(const Config& block, const EncoderKeys& keys,
                         const std::string& prefix = "");

/// Adds the options of the folder `path` (if `node` has this key) to `node`, whose keys win, and
/// resolves `path`. `translate` gets the folder's config.json, with its preprocessor_config.json,
/// where there is one, as the block `preprocessor`. A file of weights alone gives no options.
/// Errors: [weights/unreadable], [weights/json], those of `translate`.
Config with_encoder_folder(const Config& node, const BuildContext& context,
                           Config (*translate)(const Config& foreign));

/// The outputs that Encoder::select_outputs asks for.
class LayerOutputs {
 public:
  /// path: of the encoder in the configuration.
  LayerOutputs(int64_t num_layers, std::string path);
  /// Errors: [encoder/layers].
  void select(const std::vector<int64_t>& layers, bool final_output);
  /// The number of outputs that are side by side; 1 before `select`.
  int64_t count() const;
  /// Whether the encoder's own output is one of them.
  bool has_final() const { return has_final_; }
  /// The layers that are computed: the first ones.
  int64_t num_computed() const;

  using Layer = std::function<at::Tensor(int64_t index, const at::Tensor& x_BTH)>;
  using Last = std::function<at::Tensor(const at::Tensor& x_BTH)>;
  /// Runs the layers and what follows the last one. `tap`: what follows a layer whose output is
  /// asked for; null: nothing. -> [B, T, outputs side by side].
  at::Tensor run(const at::Tensor& x_BTH, const Layer& layer, const Last& last,
                 const Last& tap = {}) const;

 private:
  int64_t num_layers_;
  std::string path_;
  std::set<int64_t> selected_;
  bool has_final_ = true;
};

/// Adds rows, units and sizes of encoder layers that are at `path` ("encoder.layers") to a plan.
/// Heads and the feed-forward are split over the tensor axis if its size divides them; otherwise
/// every rank has all.
void add_encoder_layers(const EncoderLayerSpec& spec, const std::string& path,
                        const MeshShape& mesh, ShardPlan& plan);

/// Products of one row of T frames that go through such layers: 2 for each multiplication.
double encoder_layers_flops(const EncoderLayerSpec& spec, int64_t num_layers, int64_t num_frames);

/// Whisper's log-mel features. Shape letters: S samples, F mel bands, M mel frames.
class WhisperFeatures : public Block {
 public:
  /// Sizes of the transform and of the features.
  struct Sizes {
    int64_t sample_rate_hz = 16000, n_fft = 400, hop_samples = 160, num_mels = 80;
  };
  explicit WhisperFeatures(const Sizes& sizes);
  ~WhisperFeatures() override;
  /// audio [B, S], lengths [B] -> [B, F, S / hop], without a gradient. What is beyond a row's
  /// length counts as zeros, which are mirrored at the end of S.
  at::Tensor operator()(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const;
  /// The same in windows of `window_frames` mel frames, of which each is computed by itself after
  /// the audio is padded with zeros to whole windows, at least one. -> [B, F, M] of all windows.
  at::Tensor windows(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                     int64_t window_frames) const;
  /// Number of windows of so many samples.
  int64_t num_windows(int64_t num_samples, int64_t window_frames) const;
  /// Mel frames of so many samples, the last one begun.
  int64_t frames(int64_t num_samples) const;
  at::Tensor frames(const at::Tensor& lengths_B) const;

 protected:
  void reset_buffers() override;

 private:
  Sizes sizes_;
  at::Tensor window_, bank_FN_;
};

/// Whisper's two convolutions, of which the second one halves the rate. Names: conv1, conv2.
/// [N, F, M] -> [N, (M + 1) / 2, H].
class WhisperStem : public BlockOf<> {
 public:
  WhisperStem(int64_t num_mels, int64_t width);
  ~WhisperStem() override;
  /// Floating-point operations for so many frames that come out.
  double flops(int64_t num_frames) const;

 protected:
  at::Tensor forward(const at::Tensor& mel_NFM) override;

 private:
  int64_t num_mels_, width_;
  StreamConv1d conv1_, conv2_;
};

/// n / size, rounded up.
int64_t rounded_up(int64_t n, int64_t size);
at::Tensor rounded_up(const at::Tensor& n, int64_t size);

/// Positions of Whisper: sines in the first half of the channels, cosines in the second. [T, H].
at::Tensor sinusoid_positions(int64_t num_frames, int64_t width);

/// [encoder/not-streamable]: of an encoder whose frames see the whole recording, or all of a
/// window. `path`: of the encoder in the configuration; `name`: of its component.
Error sees_all_frames(const std::string& path, const std::string& name);

/// [encoder/sizes]: sizes of the options do not fit together. `path`: as above.
Error encoder_sizes_error(const std::string& path, const std::string& problem);

/// The activation that transformers calls so: gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish.
/// Empty: another name.
std::optional<Activation> activation_named(const std::string& name);
/// The activation of x.
at::Tensor apply_activation(const at::Tensor& x, Activation activation);

}  // namespace s2s
