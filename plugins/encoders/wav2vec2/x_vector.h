#pragma once
// Voices as vectors: WavLMForXVector and Wav2Vec2ForXVector of transformers. Shape letters: T
// frames, H width of the encoder, C channels, D size of the vector.

#include <memory>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/options.h"
#include "voice_model.h"
#include "wav2vec2.h"

namespace s2s::wav2vec2 {

/// Keys of the head in config.json.
struct XVectorOptions {
  bool use_weighted_layer_sum = false;
  std::vector<int64_t> tdnn_dim = {512, 512, 512, 512, 1500};
  std::vector<int64_t> tdnn_kernel = {5, 3, 3, 1, 1};
  std::vector<int64_t> tdnn_dilation = {1, 2, 3, 1, 1};
  int64_t xvector_output_dim = 512;

  void visit(OptionVisitor& v);
};

/// The head's keys of a config.json. `place` names it in messages. Errors: [encoder/sizes].
XVectorOptions x_vector_from_hf(const Config& foreign, const std::string& place);

/// Convolutions over the encoder's frames, and the mean and deviation of what they give.
class XVector : public VoiceModel {
 public:
  /// weights_path: "" for random weights.
  XVector(const Wav2Vec2Options& encoder, const XVectorOptions& head, const std::string& place,
          const std::string& weights_path);
  ~XVector() override;
  /// Undefined for fewer than two frames, which have no deviation.
  at::Tensor operator()(const at::Tensor& audio_S) override;
  int64_t sample_rate_hz() const override { return encoder_.sample_rate_hz(); }

 private:
  /// What follows the encoder, under its names in files.
  class Head : public Block {
   public:
    Head(int64_t width, int64_t num_states, const XVectorOptions& options,
         std::string weights_path);
    ~Head() override;
    at::Tensor operator()(const std::vector<at::Tensor>& states_1TH);

   protected:
    std::unique_ptr<WeightSource> initial_values() override;

   private:
    XVectorOptions options_;
    std::string weights_path_;
    at::Tensor layer_weights_;  // undefined: the last state alone
    Linear projector_, feature_extractor_;
    std::vector<std::unique_ptr<Linear>> tdnn_;
  };

  Wav2Vec2 encoder_;
  Head head_;
};

}  // namespace s2s::wav2vec2
