#pragma once
// The head of EAR-TTS: a mixture of Gaussians over latent frames. Shape letters: B batch, T frames,
// H hidden, N components, R elements of a component's mean (the low rank, else D), D elements of a
// latent.

#include <memory>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/nn/layers.h"
#include "tts_options.h"

namespace s2s::eartts {

/// x + norm(mlp(norm(x))). Source: NeMo's MLPLayer.
class MogLayer : public BlockOf<> {
 public:
  MogLayer(int64_t hidden_size, const MogOptions& options);
  ~MogLayer() override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;

 private:
  RmsNorm pre_norm_;
  GatedMlp mlp_;
  RmsNorm post_norm_;
};

/// Parameters of the mixture. Means are relative to the residual, in standard deviations.
struct Mixture {
  at::Tensor logits_BTN;
  at::Tensor means_BTNR;
  at::Tensor residual_BTD;  // undefined: zero
  at::Tensor log_std_BT1;   // shared by all components
};

/// The components that generation draws from: the `count` most probable, or the most probable with
/// a total probability of `share`. A count of 1 is greedy.
struct TopComponents {
  int64_t count = 0;  // 0: by share
  double share = 1.0;
};

class MogHead : public Block {
 public:
  MogHead(int64_t hidden_size, int64_t latent_size, const MogOptions& options);
  ~MogHead() override;
  Mixture operator()(const at::Tensor& hidden_BTH);
  /// Squared distances of the components' means to `target`: [B, T, N] float32.
  at::Tensor distances(const at::Tensor& means_BTNR, const at::Tensor& target_BTD);
  /// Draws a component: its mean [B, T, D] and log standard deviation [B, T, 1]. With `guidance`
  /// above 0, hidden has the rows with the condition, then those without. `noise`: of the CPU.
  std::pair<at::Tensor, at::Tensor> draw(const at::Tensor& hidden_BTH, double guidance,
                                         const TopComponents& top, const at::Generator& noise);
  int64_t num_predictions() const { return options_.num_predictions; }

 private:
  at::Tensor layers(at::Tensor hidden_BTH);

  MogOptions options_;
  int64_t latent_size_;
  std::vector<std::unique_ptr<MogLayer>> layers_;
  RmsNorm norm_;
  Linear proj_logits_, proj_mus_, proj_logs_;
  std::unique_ptr<Linear> proj_else_;  // with a low rank
  at::Tensor low_mat_NDR_;             // with a low rank
};

}  // namespace s2s::eartts
