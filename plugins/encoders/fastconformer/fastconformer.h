#pragma once
// FastConformer with NeMo's structure, parameter names and results.

#include <map>
#include <string>

#include "fastconformer_options.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::fastconformer {

class FastConformer : public Encoder, public RunsReferences {
 public:
  /// place: of the options in the config; base_dir: base of a relative `path`.
  FastConformer(FastConformerOptions options, const std::string& place, std::string base_dir);
  ~FastConformer() override;

  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override;
  int64_t output_frames(int64_t num_samples) const override;
  int64_t output_width(int64_t num_samples) const override;
  int64_t output_dim() const override;
  void select_outputs(const std::vector<int64_t>& layers, bool final_output) override {
    encoder_.select_outputs(layers, final_output);
  }
  double forward_flops(int64_t rows, int64_t num_samples) override;
  int64_t sample_rate_hz() const override;
  double frame_rate_hz() const override;
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  /// mel, mel_lengths, features, lengths; if it runs on live audio, `stream`: the first row's
  /// frames, from pieces of its input, and NeMo's caches after each of its steps.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  /// Errors: [weights/...] when `path` does not fit.
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  FastConformerOptions options_;
  std::string base_dir_;
  MelFrontEnd front_end_;
  ConformerEncoder encoder_;
};

}  // namespace s2s::fastconformer
