#pragma once
// Voices as vectors: EncDecSpeakerLabelModel of NeMo (TitaNet, SpeakerNet). Shape letters: S
// samples, T frames, C channels, D size of the vector.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/mel.h"
#include "s2s/options.h"
#include "voice_model.h"

namespace s2s::wav2vec2 {

/// One block of ConvASREncoder, with NeMo's names.
struct JasperOptions {
  int64_t filters = 0;
  int64_t repeat = 1;
  std::vector<int64_t> kernel, stride, dilation;
  double dropout = 0;
  bool residual = false;
  bool separable = false;
  bool se = false;
  int64_t se_reduction_ratio = 8;
  double kernel_size_factor = 1;

  void visit(OptionVisitor& v);
};

/// The parts of model_config.yaml that the vector needs.
struct SpeakerLabelOptions {
  MelOptions preprocessor;
  int64_t feat_in = 0;
  std::vector<JasperOptions> jasper;
  std::string pool_mode = "xvector";
  int64_t attention_channels = 128;
  std::vector<int64_t> emb_sizes;
};

/// Reads a model_config.yaml. `place` names it in messages. Errors: [weights/config], and those of
/// options.
SpeakerLabelOptions speaker_label_from_nemo(const Config& foreign, const std::string& place);

class SpeakerLabel final : public VoiceModel {
 public:
  /// path: what is_nemo_archive takes. Errors: [weights/mismatch] and others of s2s/nn/weights.h.
  SpeakerLabel(const SpeakerLabelOptions& options, const std::string& path);
  ~SpeakerLabel() override;
  at::Tensor operator()(const at::Tensor& audio_S) override;
  int64_t sample_rate_hz() const override { return mel_.options().sample_rate; }

 private:
  struct Convolution {
    const at::Tensor *weight, *bias;  // bias: may be null
    int64_t stride, dilation, groups;
  };
  struct Norm {
    const at::Tensor *weight, *bias;  // both null: it only normalizes
    const at::Tensor *mean, *variance;
    double epsilon;
  };
  /// Convolutions, and the normalization after them.
  struct Stage {
    std::vector<Convolution> convolutions;
    Norm norm;
  };
  struct JasperBlock {
    std::vector<Stage> stages;
    const at::Tensor *squeeze, *excite;  // null: none
    std::optional<Stage> residual;
  };
  struct Attention {
    Convolution in;
    Norm norm;
    Convolution out;
  };
  const at::Tensor* add(const std::string& name, const std::vector<int64_t>& sizes);
  Convolution add_convolution(const std::string& name, int64_t in, int64_t out, bool has_bias);
  Norm add_norm(const std::string& name, int64_t channels, double epsilon, bool is_affine);
  Stage add_stage(const std::string& prefix, int64_t first, int64_t in,
                  const JasperOptions& options);
  void add_block(const std::string& prefix, int64_t in, const JasperOptions& options);
  void add_decoder(const SpeakerLabelOptions& options, int64_t in);
  static at::Tensor run(const Convolution& convolution, const at::Tensor& x_1CT);
  static at::Tensor run(const Norm& norm, const at::Tensor& x);
  static at::Tensor run(const Stage& stage, at::Tensor x_1CT);
  at::Tensor encoded(at::Tensor x_1CT) const;
  at::Tensor pooled(const at::Tensor& x_1CT) const;
  at::Tensor attention_pooled(const at::Tensor& x_1CT) const;

  MelFrontEnd mel_;
  std::string pool_mode_;
  std::deque<at::Tensor> weights_;  // does not move its elements
  std::vector<JasperBlock> blocks_;
  Attention attention_{};
  std::vector<std::pair<Convolution, Norm>> embeddings_;  // pooled by attention: the norm is first
};

}  // namespace s2s::wav2vec2
