#pragma once
// CodecModel trains a codec on random segments of the agent's audio (Batch::target_audio_BS), with
// losses of spectra and, if configured, against discriminators. Shape letters: B rows, S samples, D
// width of latents, T frames.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec_options.h"
#include "discriminators.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/model_capabilities.h"
#include "spectral_losses.h"
#include "trained_codec.h"

namespace s2s::codec {

class CodecModel : public Model,
                   public HasCodec,
                   public HasForeignClass,
                   public RunsReferences,
                   public MakesProbeBatches {
 public:
  explicit CodecModel(const CodecOptions& options);
  ~CodecModel() override;

  BatchWeight weigh(const Batch& batch) override;
  /// Losses are means over the rows of a whole step. One backward pass gives each weight its own
  /// gradient: the codec's losses see frozen discriminators, the discriminators' loss sees detached
  /// audio.
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  /// Of whole recordings, with all codebooks.
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;

  Codec& codec() override { return codec_; }
  /// EncodecModel's.
  Config hf_config() const override;
  bool is_exported(const std::string& name) const override;

  /// Inputs: audio_real and audio_gen [B, S]. Outputs: the losses and, of audio_gen, the gradient
  /// of the codec's losses.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override { return {"codes", "audio"}; }

  Batch probe_batch(const ProbeBatch& shape) override;

 private:
  /// Losses by name, [B] each, and their weighted sum.
  struct RowLosses {
    std::map<std::string, at::Tensor> parts;
    at::Tensor total_B;
    void add(const std::string& name, const at::Tensor& loss_B, double scale);
  };
  void add_spectral(const at::Tensor& real_BS, const at::Tensor& decoded_BS,
                    RowLosses& losses) const;
  void add_adversarial(const at::Tensor& real_BS, const at::Tensor& decoded_BS, int64_t step,
                       RowLosses& losses) const;
  at::Tensor segments(const Batch& batch, int64_t step) const;
  at::Tensor speech_begins(const Batch& batch, int64_t step) const;
  at::Tensor books_of_rows(const Batch& batch, int64_t step) const;

  CodecOptions options_;
  TrainedCodec codec_;
  SpectralLoss spectral_;
  std::unique_ptr<Discriminators> discriminators_;  // null: none
};

}  // namespace s2s::codec
